"""Policies that come after PyTorch has allocated: caps above and below what is held, options, segments, a backend."""

import json
import os

import torch

import gpumem

GIB = 1 << 30
kept = [torch.empty(3 * GIB, dtype=torch.uint8, device="cuda")]


def row(field="cap"):
    mine = [r for r in gpumem.verify().rows if (r.framework, r.field) == ("torch", field)]
    return [mine[0].state, mine[0].in_force]


def attempt(size, device="cuda"):
    try:
        torch.empty(size, dtype=torch.uint8, device=device)
    except torch.OutOfMemoryError:
        return "refused"
    finally:
        torch.cuda.empty_cache()
    return "granted"


def fraction(device=0):
    read = getattr(torch.cuda, "get_per_process_memory_fraction", None)
    return read(device) if read else None


shown = {"version": torch.__version__}
gpumem.configure(cap="4GiB")
shown["above"] = [row(), attempt(GIB), attempt(2 * GIB)]
gpumem.configure(cap="4GiB")
shown["same"] = [row(), attempt(2 * GIB)]
gpumem.configure(cap="6GiB", frameworks={"torch": {"options": {"max_split_size_mb": 64}}})
shown["raised"] = [row(), attempt(2 * GIB), attempt(4 * GIB), row("options.max_split_size_mb")]
gpumem.configure(cap="1GiB")
shown["below"] = [row()[0], attempt(GIB)]
shown["other device"] = [attempt(GIB // 2, "cuda:1"), attempt(2 * GIB, "cuda:1")]
gpumem.configure(cap="5GiB", allocator="vmm")
shown["vmm"] = [row("allocator"), row()[0], attempt(GIB)]
shown["reset"] = [gpumem.reset(), fraction(), attempt(8 * GIB), os.environ.get("PYTORCH_CUDA_ALLOC_CONF")]

# The backend was fixed at the import: an error that changes nothing, and above all not the environment.
try:
    gpumem.configure(cap="4GiB", allocator="async")
except gpumem.LateInitialisationError as error:
    shown["late"] = [str(error), os.environ.get("PYTORCH_CUDA_ALLOC_CONF"), fraction(), attempt(8 * GIB)]
gpumem.configure(cap="4GiB", allocator="async", on_late="ignore")
shown["without it"] = [row("allocator")[0], row()[0], os.environ.get("PYTORCH_CUDA_ALLOC_CONF"), attempt(8 * GIB)]
gpumem.reset()

# A limit that the user set by PyTorch's own call is kept against a weak source, and overruled by arguments.
torch.cuda.set_per_process_memory_fraction(0.5, 0)
gpumem.prefer(cap="4GiB")
gpumem.configure(preallocate=False)
shown["users"] = fraction()
gpumem.configure(cap="4GiB", ignore=["GM104"])
shown["users overruled"] = [fraction(), row()[0]]
gpumem.reset()
shown["users again"] = fraction()
print(json.dumps(shown))
