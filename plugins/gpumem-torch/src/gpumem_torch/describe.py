"""What the plugin says about PyTorch, for the mapping tables and for the core."""

from __future__ import annotations

from typing import Final

from gpumem.plugin import AllocatorSupport, FieldSupport, Framework
from gpumem_torch.allocate import OUT_OF_MEMORY
from gpumem_torch.variables import CUDA_NAME, HIP_NAME, NEW_NAME, NO_CACHING

FRAMEWORK: Final = Framework(
    name="torch",
    title="PyTorch",
    aliases=("pytorch",),
    distributions=("torch",),
    variables=(CUDA_NAME, NEW_NAME, HIP_NAME, NO_CACHING),
    # PyTorch counts in fractions, but gpumem converts with PyTorch's own total when CUDA starts: a cap in bytes needs
    # no total beforehand. "bytes" keeps NVML closed for it; for a fraction NVML is asked, to show it in bytes.
    limit_unit="bytes",
    fields=(
        FieldSupport(
            "limit",
            "torch.cuda.set_per_process_memory_fraction, per device, queued for the start of CUDA",
            "never too late",
            "hard",
            "device",
            "counts the segments PyTorch holds; with cudaMallocAsync the bytes requested",
        ),
        FieldSupport(
            "preallocate",
            "one block, allocated and freed after the limit is set, so that it stays in the cache",
            "never too late",
            "soft",
            "device",
            "on the only visible device, on devices the policy names, and on the launcher's local one; "
            "torch.cuda.empty_cache() and running out of memory give a block back that nobody uses",
        ),
        FieldSupport(
            "allocator",
            f"backend and expandable_segments in {CUDA_NAME} and {NEW_NAME}; {NO_CACHING}",
            "import for the backend; the first allocation for no caching; never for expandable segments",
            "hard",
            "process",
        ),
        FieldSupport(
            "visible", "none: CUDA_VISIBLE_DEVICES before the start", "before the process starts", "advice", "process"
        ),
        FieldSupport(
            "options",
            f"the other keys of {CUDA_NAME} and {NEW_NAME}",
            "the start of CUDA, for most keys never",
            "hard",
            "process",
        ),
    ),
    allocators=(
        AllocatorSupport("pool", "native", holds_cap=True),
        AllocatorSupport(
            "async",
            "backend:cudaMallocAsync",
            holds_cap=True,
            note="before import; counts requested bytes, the driver's pool can hold more; "
            "setting a limit makes a context on each device",
        ),
        AllocatorSupport("direct", f"{NO_CACHING}=1", holds_cap=False),
        AllocatorSupport(
            "vmm",
            "expandable_segments:True",
            holds_cap=True,
            note="the limit is set one segment (20 MiB) lower, because PyTorch overshoots by up to one; not on Windows",
        ),
    ),
    outside_of_caps="CUDA contexts, cuBLAS and cuDNN handles, NCCL buffers and what other libraries allocate",
    allocate="gpumem_torch.allocate:allocate",
    out_of_memory=OUT_OF_MEMORY,
)
