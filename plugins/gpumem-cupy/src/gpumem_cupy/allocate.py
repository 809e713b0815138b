"""Allocating with CuPy, for commands that show or test what a policy does; and its errors that mean "no room"."""

from __future__ import annotations

from typing import Final

OUT_OF_MEMORY: Final = (
    # cupy.cuda.memory.OutOfMemoryError: refused by a pool's limit or by the card.
    r"^OutOfMemoryError: ",
    # What CUDA itself refuses outside of a pool: a context, or an allocation without one.
    r"^CUDARuntimeError: cudaErrorMemoryAllocation\b",
    r"^CUDADriverError: CUDA_ERROR_OUT_OF_MEMORY\b",
)


def allocate(size: int) -> object:
    """Put `size` bytes on CuPy's current GPU, unwritten; return the array that keeps them there."""
    import cupy

    return cupy.empty(size, cupy.uint8)
