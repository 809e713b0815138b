"""Allocating with PyTorch, for commands that show or test what a policy does; and its errors that mean "no room"."""

from __future__ import annotations

from typing import Final

OUT_OF_MEMORY: Final = (
    # torch.OutOfMemoryError, of every allocator; up to 2.4 torch.cuda.OutOfMemoryError.
    r"^OutOfMemoryError: ",
    # What CUDA itself refuses, as without caching: a RuntimeError, from 2.8 on an AcceleratorError.
    r"^\w+: CUDA error: out of memory",
)


def allocate(size: int) -> object:
    """Put `size` bytes on PyTorch's current GPU, unwritten; return the tensor that keeps them there."""
    import torch

    return torch.empty(size, dtype=torch.uint8, device="cuda")
