"""Settings that somebody changes behind the policy's back: verify() names what differs."""

import json
import os

import gpumem

gpumem.configure(cap="4GiB", allocator="vmm", frameworks={"torch": {"options": {"max_split_size_mb": 64}}})
import torch  # noqa: E402 - the policy comes first


def rows():
    mine = [row for row in gpumem.verify().rows if row.framework == "torch"]
    return {f"{row.field} {row.device}": [row.state, row.in_force, row.why] for row in mine}


shown = {}
good = os.environ["PYTORCH_CUDA_ALLOC_CONF"]
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:False"
shown["variable"] = rows()
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = good
torch.cuda.init()
shown["good"] = rows()
torch.cuda.set_per_process_memory_fraction(0.9, 1)
setter = getattr(torch._C, "_accelerator_setAllocatorSettings", None)
(setter or torch._C._cuda_cudaCachingAllocator_set_allocator_settings)("expandable_segments:False")
shown["broken"] = rows()
try:
    gpumem.verify(strict=True)
except gpumem.VerificationError as error:
    shown["strict"] = str(error)
print(json.dumps(shown))
