"""CuPy's pools and allocators, looked at without using them.

CuPy's own reading calls (`MemoryPool.get_limit`, `total_bytes`) build the pools of every device if they do not
exist yet, which freezes CUPY_GPU_MEMORY_LIMIT, and they speak of the current device only; making another device
current costs a context there and one more on the way back (cupy/cuda/device.pyx, `Device.__exit__`). The pools of
the single devices answer for themselves without any call to CUDA, but CuPy hands them out nowhere. Python's
garbage collector does: they are what the pool refers to. Versions 13.3.0 and 14.2.0 were read and run; where the
objects look otherwise the answer is "unknown", never a guess.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

Allocator = Callable[[int], Any]
"""What `cupy.cuda.set_allocator` takes: bytes to a `cupy.cuda.MemoryPointer`."""

NO_LIMIT_ASYNC = (1 << 64) - 1
"""What MemoryAsyncPool.get_limit() says where there is no limit; MemoryPool says 0."""


def is_cupy(module: ModuleType) -> bool:
    """Return whether a module is CuPy, imported to the end, and not another one of its name."""
    cuda = getattr(module, "cuda", None)
    return hasattr(module, "get_default_memory_pool") and hasattr(cuda, "get_allocator")


def device_pools(pool: object) -> Mapping[int, Any] | None:
    """Return the pools of the single devices that a MemoryPool has built, by ordinal; None where that is unknown.

    CuPy 14 keeps a tuple with one pool per visible device, or None before the first use; CuPy 13 keeps a
    defaultdict with the devices that were used (cupy/cuda/memory.pyx, class MemoryPool).
    """
    referents = gc.get_referents(pool)
    for referent in referents:
        if isinstance(referent, tuple) and referent and all(_is_device_pool(item) for item in referent):
            return dict(enumerate(referent))
        if isinstance(referent, defaultdict):
            found = dict(referent)
            if all(isinstance(key, int) and _is_device_pool(item) for key, item in found.items()):
                return found
    return {} if any(referent is None for referent in referents) else None


def _is_device_pool(item: object) -> bool:
    return all(callable(getattr(item, name, None)) for name in ("get_limit", "set_limit", "total_bytes"))


def owner(allocator: object) -> object:
    """Return the object whose method an allocator is; None for a function."""
    found = getattr(allocator, "__self__", None)
    return None if isinstance(found, ModuleType) else found  # a function of an extension module belongs to the module


def is_memory_pool(module: ModuleType, item: object) -> bool:
    """Return whether `item` is a pool with limits per device that CuPy itself keeps."""
    return isinstance(item, module.cuda.MemoryPool)


def is_async_pool(module: ModuleType, item: object) -> bool:
    """Return whether `item` is CuPy's front to the driver's pool."""
    return isinstance(item, module.cuda.MemoryAsyncPool)


def word_of(module: ModuleType, allocator: object) -> str | None:
    """Return the policy's word for an allocator, None for one that CuPy does not have itself."""
    pool = owner(allocator)
    if is_async_pool(module, pool):
        return "async"
    if is_memory_pool(module, pool):
        managed = module.cuda.malloc_managed
        inner = [pool, *(device_pools(pool) or {}).values()]
        return (
            "managed" if any(managed is referent for item in inner for referent in gc.get_referents(item)) else "pool"
        )
    # `set_allocator(None)` puts this function in place (cupy/cuda/memory.pyx 14.2.0, line 907).
    return "direct" if allocator is getattr(module.cuda.memory, "_malloc", None) else None


def name_of(allocator: object) -> str:
    """Return the name of an allocator for people, such as ``rmm.allocators.cupy.rmm_cupy_allocator``."""
    pool = owner(allocator)
    if pool is not None:
        kind = type(pool)
        return f"{kind.__module__}.{kind.__qualname__}.{getattr(allocator, '__name__', 'malloc')}"
    name = getattr(allocator, "__qualname__", None) or type(allocator).__qualname__
    home = getattr(allocator, "__module__", None) or getattr(
        getattr(allocator, "__self__", None), "__name__", type(allocator).__module__
    )
    return f"{home}.{name}"


class AsyncDevicePool:
    """One device's part of a MemoryAsyncPool, read and set by the pool's handle so that no device is made current.

    A limit of a MemoryAsyncPool is the release threshold of the driver's pool, checked before each growth
    (cupy/cuda/memory.pyx 14.2.0, lines 1868 and 1966).
    """

    def __init__(self, module: ModuleType, handle: int) -> None:
        """Remember the handle."""
        self._runtime = module.cuda.runtime
        self._handle = handle

    def get_limit(self) -> int:
        """Return the limit in bytes; `NO_LIMIT_ASYNC` for none."""
        return int(self._runtime.memPoolGetAttribute(self._handle, self._runtime.cudaMemPoolAttrReleaseThreshold))

    def set_limit(self, size: int) -> None:
        """Set the limit in bytes; 0 for none."""
        value = size or NO_LIMIT_ASYNC
        self._runtime.memPoolSetAttribute(self._handle, self._runtime.cudaMemPoolAttrReleaseThreshold, value)

    def total_bytes(self) -> int:
        """Return the bytes the driver's pool holds for everybody who uses it."""
        return int(self._runtime.memPoolGetAttribute(self._handle, self._runtime.cudaMemPoolAttrReservedMemCurrent))

    def free_all_blocks(self, _stream: object = None) -> None:
        """Give back what nobody uses."""
        self._runtime.memPoolTrimTo(self._handle, 0)


def built_pools(module: ModuleType, pool: object) -> Mapping[int, Any] | None:
    """Return what `device_pools` does for either kind: objects with get_limit, set_limit(size=) and total_bytes."""
    if is_async_pool(module, pool):
        handles = getattr(pool, "_pools", None)
        if not isinstance(handles, list):
            return None
        return {ordinal: AsyncDevicePool(module, handle) for ordinal, handle in enumerate(handles)}
    return device_pools(pool)
