"""Allocating with numbat, for commands such as `gpumem prove`."""

from __future__ import annotations


def allocate(size: int) -> None:
    """Take `size` bytes from numbat's pool, which keeps them by itself."""
    import numbat

    numbat.allocate(size)
