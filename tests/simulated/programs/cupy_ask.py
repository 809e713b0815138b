"""CuPy under a policy: what waits, what is granted, what is in force.

usage: cupy_ask.py MOMENT ASKS     MOMENT: before the import or after it; ASKS: JSON list of [device, bytes], all kept
POLICY: JSON of the arguments of configure(); empty for what files and variables declare
"""

import json
import os
import sys
import warnings

import gpumem
from gpumem.plugin import cuda_state

MOMENT, ASKS = sys.argv[1], json.loads(sys.argv[2])
POLICY = json.loads(os.environ.get("POLICY") or "{}")
heard = []
warnings.showwarning = lambda message, *_args: heard.append(str(message))


def rows():
    mine = [row for row in gpumem.verify().rows if row.framework == "cupy"]
    return {f"{row.field} {row.device}": [row.state, row.in_force, row.why] for row in mine}


if MOMENT == "after":
    import cupy
try:
    gpumem.configure(**POLICY)
except gpumem.GpumemError as error:
    print(json.dumps({"error": type(error).__name__, "text": str(error)}))
    sys.exit()
import cupy  # noqa: E402 - the policy comes first
from cupy.cuda.memory import OutOfMemoryError  # noqa: E402 - the policy comes first

shown = {"waiting": rows(), "cuda": cuda_state().status, "variable": os.environ.get("CUPY_GPU_MEMORY_LIMIT")}
kept, granted = [], []
for device, size in ASKS:
    with cupy.cuda.Device(device):
        try:
            kept.append(cupy.empty(size, "u1"))
            granted.append(True)
        except OutOfMemoryError:
            granted.append(False)
own = getattr(cupy.cuda.get_allocator(), "__self__", None)
shown |= {
    "granted": granted,
    "rows": rows(),
    "ok": gpumem.verify().ok,
    "default_pool": own is cupy.get_default_memory_pool(),
    "warnings": heard,
    "left": gpumem.reset(),
    "after_reset": [cupy.get_default_memory_pool().get_limit(), os.environ.get("CUPY_GPU_MEMORY_LIMIT")],
}
print(json.dumps(shown))
