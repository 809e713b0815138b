"""In which state CuPy is, found without importing or starting anything."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import ModuleType

from gpumem.plugin import Answer, FrameworkState, NativeSetting, Size, cuda_state, installed_versions
from gpumem_cupy.describe import DISTRIBUTIONS, LIMIT_VARIABLE, NAME
from gpumem_cupy.first_touch import FirstTouch, finite
from gpumem_cupy.installed import installed
from gpumem_cupy.observe import observe, pool_in_use
from gpumem_cupy.pools import (
    built_pools,
    is_async_pool,
    is_cupy,
    is_memory_pool,
    name_of,
    owner,
    word_of,
)

_LARGEST_SIZE = (1 << 63) - 1


def imported_cupy() -> ModuleType | None:
    """Return CuPy if it is imported to the end, None for any other module of that name too."""
    module = sys.modules.get(NAME)
    if not isinstance(module, ModuleType) or getattr(module.__spec__, "_initializing", False):
        return None
    return module if is_cupy(module) else None


def detect(environ: Mapping[str, str]) -> FrameworkState:
    """Return the state. CuPy has started when it has built its pools: then it has read its variable.

    Args:
        environ: the environment without what gpumem wrote.
    """
    versions = installed_versions(DISTRIBUTIONS)
    module = imported_cupy()
    if module is None:
        return FrameworkState(versions=versions, evidence="cupy is not in sys.modules, or not to the end")
    started, evidence = _started(module)
    allocator = _behind_gpumem(module.cuda.get_allocator())
    kind = _kind(module, allocator)
    return FrameworkState(
        versions=versions,
        imported=Answer.YES,
        started=started,
        evidence=evidence,
        settings=(*_allocator_set_by_user(module, kind, allocator), *_limits_set_by_user(module, environ)),
        observations=observe(module),
        details={"allocator": kind, "who": name_of(allocator)},
    )


def _started(module: ModuleType) -> tuple[Answer, str]:
    cuda = cuda_state()
    if not cuda.initialised:
        return Answer.NO, f"CUDA is {cuda.status} in this process"
    pool = pool_in_use(module)
    allocator = module.cuda.get_allocator()
    if pool is None and not isinstance(owner(allocator), FirstTouch):
        # Nothing waits for a pool any more: whatever was prepared for its first use has been bypassed.
        return Answer.YES, f"CUDA runs in this process, and CuPy allocates through {name_of(allocator)}"
    pool = pool or module.get_default_memory_pool()
    pools = built_pools(module, pool)
    if pools is None:
        return (
            Answer.UNKNOWN,
            "CUDA runs in this process, and CuPy does not tell whether it has built its pools",
        )
    if pools:
        return Answer.YES, "CuPy has built its memory pools"
    return Answer.NO, "CUDA runs in this process, but CuPy has not built its memory pools"


def _behind_gpumem(allocator: object) -> object:
    """Return the allocator that the user has chosen where gpumem only stands before it."""
    own = owner(allocator)
    return own.pool.malloc if isinstance(own, FirstTouch) and own.word is None else allocator


def _kind(module: ModuleType, allocator: object) -> str:
    """Return what allocates: default, gpumem, pool, async, direct, or foreign for none of CuPy's own."""
    pool = owner(allocator)
    touch = installed(module)
    if isinstance(pool, FirstTouch) or (touch is not None and pool is not None and pool is touch.pool and touch.word):
        return "gpumem"
    if pool is module.get_default_memory_pool():
        return "default"
    if is_memory_pool(module, pool):
        return "pool"
    if is_async_pool(module, pool):
        return "async"
    if word_of(module, allocator) == "direct":
        return "gpumem" if touch is not None and touch.word == "direct" else "direct"
    return "foreign"


def _allocator_set_by_user(module: ModuleType, kind: str, allocator: object) -> tuple[NativeSetting, ...]:
    if kind in ("default", "gpumem", "foreign"):
        return ()
    return (NativeSetting("allocator", word_of(module, allocator), "cupy.cuda.set_allocator()"),)


def _limits_set_by_user(module: ModuleType, environ: Mapping[str, str]) -> tuple[NativeSetting, ...]:
    """Return the limits that neither the variable nor gpumem has set."""
    pool = pool_in_use(module)
    if pool is None or not cuda_state().initialised:
        return ()
    touch = installed(module)
    explained = set(touch.asked) if touch else set()
    for text in (os.environ.get(LIMIT_VARIABLE, ""), environ.get(LIMIT_VARIABLE, "")):
        if text.endswith("%"):
            return ()  # the bytes that CuPy made of it cannot be told from a limit set by call
        if text.strip().isdecimal():
            explained.add(int(text))
    found = []
    for ordinal, device_pool in (built_pools(module, pool) or {}).items():
        limit = finite(device_pool.get_limit())
        if 0 < limit <= _LARGEST_SIZE and limit not in explained:
            found.append(NativeSetting("cap", Size(bytes=limit), "set_limit() of CuPy's pool", ordinal))
    return tuple(found)
