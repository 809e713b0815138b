"""An invented framework, small enough to read: it takes memory from one pool per process.

Two variables are read when the pool is made, at the first allocation:

- ``NUMBAT_LIMIT``: the most bytes the pool may hold; unset for no limit.
- ``NUMBAT_TAKE_ALL``: ``1`` to take the whole limit at once, ``0`` (the default) to take memory as it is needed.
"""

from __future__ import annotations

import os

__version__ = "3.1"


class Pool:
    """The memory that this process holds."""

    def __init__(self, limit: int | None, take_all: bool) -> None:
        """Make the pool; with `take_all` it holds its whole limit from now on."""
        self.limit = limit
        self.take_all = take_all
        self.held = limit if take_all and limit else 0
        self.used = 0


_pool: Pool | None = None


def pool() -> Pool | None:
    """Return the pool, None before the first allocation. Makes nothing."""
    return _pool


def allocate(size: int) -> None:
    """Take `size` bytes from the pool.

    Raises:
        MemoryError: when the pool would hold more than its limit.
    """
    global _pool
    if _pool is None:
        limit = os.environ.get("NUMBAT_LIMIT")
        _pool = Pool(int(limit) if limit else None, os.environ.get("NUMBAT_TAKE_ALL") == "1")
    if _pool.limit is not None and _pool.used + size > _pool.limit:
        message = f"numbat: {size} bytes more than the {_pool.used} in use exceed the limit of {_pool.limit}"
        raise MemoryError(message)
    _pool.used += size
    _pool.held = max(_pool.held, _pool.used)
