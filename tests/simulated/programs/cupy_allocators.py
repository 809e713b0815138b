"""Each allocator word in turn, in one process: what CuPy allocates through, what 4 GiB cost, what reset() leaves."""

import json

import gpumem

gpumem.configure(cap="2GiB", allocator="managed")
import cupy  # noqa: E402 - the policy comes first
from cupy.cuda.memory import OutOfMemoryError  # noqa: E402 - the policy comes first

GIB = 1 << 30
POLICIES = {
    "managed": {"cap": "2GiB", "allocator": "managed"},
    "async": {"cap": "2GiB", "allocator": "async"},
    "async, taken ahead": {"cap": "2GiB", "allocator": "async", "preallocate": "1GiB"},
    "pool": {"cap": "2GiB", "allocator": "pool"},
    "direct": {"allocator": "direct"},
    "direct, capped": {"cap": "2GiB", "allocator": "direct"},
    "vmm": {"cap": "2GiB", "allocator": "vmm"},
    "managed, taken ahead": {"cap": "2GiB", "allocator": "managed", "preallocate": True},
}


def attempt(size):
    try:
        kept.append(cupy.empty(size, "u1"))
    except OutOfMemoryError:
        return "refused"
    return "granted"


shown = {}
for name, policy in POLICIES.items():
    gpumem.configure(**policy, on_unsupported="ignore")
    kept = []
    cupy.cuda.get_allocator()(512)
    answers = [attempt(GIB), attempt(4 * GIB)]
    rows = {row.field: [row.state, row.in_force] for row in gpumem.verify().rows if row.framework == "cupy"}
    kept.clear()
    shown[name] = {"answers": answers, "rows": rows, "left": gpumem.reset()}
    own = getattr(cupy.cuda.get_allocator(), "__self__", None)
    shown[name]["default_pool_again"] = own is cupy.get_default_memory_pool()
print(json.dumps(shown))
