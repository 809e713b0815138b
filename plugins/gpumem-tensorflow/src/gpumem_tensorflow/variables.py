"""The environment variables of TensorFlow that decide over GPU memory, and how its own parsers read them.

TensorFlow reads all of them with C `getenv` when it creates its GPU devices, never at import
(tensorflow/core/common_runtime/gpu, seen on 2.18.0 and 2.21.0 with a simulated driver).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GROWTH: Final = "TF_FORCE_GPU_ALLOW_GROWTH"
"""Exactly ``true`` or ``false``; beats the API both ways (gpu_bfc_allocator.cc, GetAllowGrowthValue)."""

ALLOCATOR: Final = "TF_GPU_ALLOCATOR"
"""``cuda_malloc_async``, ``cuda_malloc`` or ``memory_guard``; anything else is ignored (gpu_process_state.cc)."""

ASYNC_PREALLOCATION: Final = "TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC"
"""Bytes that the async allocator takes from the driver's pool at its start (gpu_cudamallocasync_allocator.cc)."""

RESERVE: Final = "TF_DEVICE_MIN_SYS_MEMORY_IN_MB"
GARBAGE_COLLECTION: Final = "TF_ENABLE_GPU_GARBAGE_COLLECTION"
HOST_LIMIT: Final = "TF_GPU_HOST_MEM_LIMIT_IN_MB"
CUDNN_WORKSPACE: Final = "TF_CUDNN_WORKSPACE_LIMIT_IN_MB"
CUBLAS_WORKSPACE: Final = "TF_CUBLAS_WORKSPACE_LIMIT_IN_MB"
SINGLE_REQUEST_LIMIT: Final = "TF_PER_DEVICE_MEMORY_LIMIT_MB"

VARIABLES: Final = (
    GROWTH,
    ALLOCATOR,
    ASYNC_PREALLOCATION,
    RESERVE,
    GARBAGE_COLLECTION,
    HOST_LIMIT,
    CUDNN_WORKSPACE,
    CUBLAS_WORKSPACE,
    SINGLE_REQUEST_LIMIT,
)
"""Every variable that this plugin reads or writes."""

ALLOCATOR_WORDS: Final[Mapping[str, str]] = {
    "cuda_malloc_async": "async",
    "cuda_malloc": "direct",
    "memory_guard": "pool",
}
"""TensorFlow's names of allocators, each with the word of a policy. memory_guard is the pool with guard bytes."""


def read_growth(environ: Mapping[str, str]) -> bool | None:
    """Return what TensorFlow reads from its growth variable: True, False, or None where it is unset or unreadable."""
    return {"true": True, "false": False}.get(environ.get(GROWTH, ""))


def read_allocator(environ: Mapping[str, str]) -> str | None:
    """Return the policy's word for the allocator that the variable chooses, None where it chooses none."""
    return ALLOCATOR_WORDS.get(environ.get(ALLOCATOR, ""))


def growth_text(grows: bool) -> str:
    """Return the one spelling that TensorFlow's parser accepts."""
    return "true" if grows else "false"
