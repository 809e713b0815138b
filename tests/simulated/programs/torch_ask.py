"""PyTorch under a policy: what waits, what is granted, what is in force.

usage: torch_ask.py MOMENT ASKS     MOMENT: before the import, after it, or started (after the start of CUDA)
ASKS: JSON list of [device, bytes], all kept; bytes "fill" allocates tensors of odd sizes until one is refused
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
NAMES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING")
heard = []
# What PyTorch itself warns of (the simulated GPU has no fabric) is not the policy's business.
warnings.showwarning = lambda message, *_args: isinstance(message, gpumem.GpumemWarning) and heard.append(str(message))


def variables():
    return {name: os.environ[name] for name in NAMES if name in os.environ}


def rows():
    mine = [row for row in gpumem.verify().rows if row.framework == "torch"]
    return {f"{row.field} {row.device}": [row.state, row.in_force, row.why] for row in mine}


before = variables()
if MOMENT != "before":
    import torch
if MOMENT == "started":
    torch.cuda.init()
try:
    gpumem.configure(**POLICY)
except gpumem.GpumemError as error:
    print(json.dumps({"error": type(error).__name__, "text": str(error), "untouched": variables() == before}))
    sys.exit()
cuda = cuda_state().status
import torch  # noqa: E402 - the policy comes first

shown = {"cuda": cuda, "variables": variables(), "waiting": rows(), "version": torch.__version__}
shown["started by configure and import"] = torch.cuda.is_initialized()
kept, granted = [], []


def take(size, device):
    try:
        kept.append(torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}"))
    except torch.OutOfMemoryError:
        return False
    except RuntimeError as error:  # before 2.8 PyTorch fails to put its message together without NVML
        if "nvmlInit" not in str(error):
            raise
        return False
    return True


for device, size in ASKS:
    if size == "fill":
        for each in (33333333, 7654321, 1 << 20, 654321):
            while take(each, device):
                pass
    else:
        granted.append(take(size, device))
devices = range(torch.cuda.device_count())
shown |= {
    "current": torch.cuda.current_device(),
    "backend": torch.cuda.get_allocator_backend(),
    "granted": granted,
    "allocated": [torch.cuda.memory_allocated(device) for device in devices],
    "rows": rows(),
    "ok": gpumem.verify().ok,
    "warnings": heard,
    "left": gpumem.reset(),
    "restored": variables() == before,
}
print(json.dumps(shown))
