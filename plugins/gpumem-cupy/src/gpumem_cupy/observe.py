"""What is in force in CuPy, read without starting or changing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from gpumem.plugin import CudaState, Observation, cuda_state, human
from gpumem_cupy.first_touch import FirstTouch, finite
from gpumem_cupy.installed import installed
from gpumem_cupy.pools import built_pools, is_async_pool, is_cupy, is_memory_pool, name_of, owner, word_of

_READ = "get_limit() of CuPy's pool"
_READ_OTHER = "get_limit() of the pool that was set with cupy.cuda.set_allocator(),"
_NOT_USED = "CuPy has not used its memory pool yet"
_ON_REQUEST = "CuPy's pool takes memory on request only"


def pool_in_use(module: ModuleType) -> Any:
    """Return the pool that serves CuPy's requests; None for an allocator without one, and for one still to be built."""
    own = owner(module.cuda.get_allocator())
    if isinstance(own, FirstTouch):
        return own.pool
    return own if is_memory_pool(module, own) or is_async_pool(module, own) else None


def observe(module: ModuleType) -> tuple[Observation, ...]:
    """Return the allocator, and the limit and what was taken ahead for each device and for all of them."""
    if not is_cupy(module):
        return ()
    allocator = module.cuda.get_allocator()
    touch = installed(module)
    word = _word(module, touch, allocator)
    cuda = cuda_state()
    limits = _limits(module, touch, allocator, cuda)
    return (
        Observation("allocator", None, word or name_of(allocator), "cupy.cuda.get_allocator()"),
        *_with_all_others("limit", limits, touch),
        *_with_all_others("preallocate", _taken_ahead(module, touch, cuda), touch),
    )


def _word(module: ModuleType, touch: FirstTouch | None, allocator: object) -> str | None:
    own = owner(allocator)
    if isinstance(own, FirstTouch):
        return own.word or word_of(module, getattr(own.pool, "malloc", None)) or "pool"
    if touch is not None and touch.word and own is not None and own is touch.pool:
        return touch.word
    return word_of(module, allocator)


def _limits(
    module: ModuleType, touch: FirstTouch | None, allocator: object, cuda: CudaState
) -> tuple[Observation, ...]:
    own = owner(allocator)
    pool = pool_in_use(module)
    if pool is None and not isinstance(own, FirstTouch):
        return _bypassed(module, allocator, cuda)
    if pool is None or not cuda.initialised:
        return tuple(_waiting(device.ordinal) for device in cuda.devices)
    pools = built_pools(module, pool)
    if pools is None:
        return _of_current_device(module, pool, cuda)
    totals = {device.ordinal: device.total for device in cuda.devices}
    ordinals = sorted({*pools, *totals})
    known = touch if touch is not None and touch.pool is pool else None
    read = _READ if known or pool is module.get_default_memory_pool() else f"{_READ_OTHER} {name_of(pool.malloc)}"
    return tuple(_limit(ordinal, totals.get(ordinal), pools, known, read) for ordinal in ordinals)


def _bypassed(module: ModuleType, allocator: object, cuda: CudaState) -> tuple[Observation, ...]:
    """Say that no limit of CuPy's is in force: 0, as CuPy's pool says it."""
    switched_off = " (set_allocator(None))" if word_of(module, allocator) == "direct" else ""
    source = f"{name_of(allocator)}{switched_off}, through which CuPy allocates now without a limit of its own,"
    ordinals: list[int | None] = [device.ordinal for device in cuda.devices]
    return tuple(Observation("limit", ordinal, 0, source) for ordinal in (ordinals or [None]))


def _waiting(ordinal: int | None) -> Observation:
    return Observation("limit", ordinal, None, _READ, why=_NOT_USED)


def _limit(
    ordinal: int, total: int | None, pools: Mapping[int, Any], touch: FirstTouch | None, read: str
) -> Observation:
    pool = pools.get(ordinal)
    if pool is None:
        return _waiting(ordinal)
    elsewhere = touch.held_elsewhere(ordinal) if touch else 0
    held = int(pool.total_bytes()) + elsewhere
    rule = touch.rule(ordinal) if touch else None
    if touch and rule and rule.sets_limit and touch.waits(ordinal) and ordinal not in touch.limits:
        why = f"CuPy has not allocated on device {ordinal} yet; the limit is set then"
        return Observation("limit", ordinal, None, _READ, why=why, held=held)
    limit: int | float = finite(int(pool.get_limit()))
    beside = f", beside {human(elsewhere)} that its other pools hold" if elsewhere else ""
    source = f"{read} on device {ordinal}{beside}"
    if rule and rule.share is not None and total:
        # The plan was made without knowing the total, so it expects a share.
        limit, source = limit / total, f"{source}, of its total"
    # Nothing can be above "no limit", which is 0 here.
    return Observation("limit", ordinal, limit, source, held=held if limit else None)


def _of_current_device(module: ModuleType, pool: Any, cuda: CudaState) -> tuple[Observation, ...]:
    """Read the current device by CuPy's own call, if it has a context already; the others cannot be read passively."""
    current = int(module.cuda.runtime.getDevice())
    found = []
    for device in cuda.devices:
        if device.ordinal == current and current in cuda.contexts:
            source = f"{_READ} on device {current}"
            held = int(pool.total_bytes())
            found.append(Observation("limit", current, finite(int(pool.get_limit())), source, held=held))
        else:
            why = f"CuPy tells the limit of the current device only; ask with device {device.ordinal} current"
            found.append(Observation("limit", device.ordinal, None, _READ, why=why))
    return tuple(found)


def _with_all_others(name: str, items: Sequence[Observation], touch: FirstTouch | None) -> tuple[Observation, ...]:
    """Add what holds for all devices, or for all without a rule of their own: the loosest of what is known."""
    named = {ordinal for ordinal in touch.rules if ordinal is not None} if touch else set()
    if any(item.device is None for item in items):
        return tuple(items)
    known = [item for item in items if item.value is not None and item.device not in named]
    if not known:
        why = next((item.why for item in items if item.device not in named), _NOT_USED)
        return (Observation(name, None, None, _READ, why=why), *items)
    loosest = max(known, key=_looseness if name == "limit" else _amount)
    held = max((item.held for item in known if item.held is not None), default=None)
    return (Observation(name, None, loosest.value, loosest.source, why=loosest.why, held=held), *items)


def _amount(item: Observation) -> float:
    return float(item.value) if isinstance(item.value, int | float) else 0.0


def _looseness(item: Observation) -> float:
    # No limit, 0 to the one kind of pool and the largest number to the other, is the loosest.
    return _amount(item) or float(1 << 64)


def _taken_ahead(module: ModuleType, touch: FirstTouch | None, cuda: CudaState) -> tuple[Observation, ...]:
    """Return what was taken ahead. CuPy by itself takes nothing (cupy/cuda/memory.pyx: a pool grows on request)."""
    if touch is None or not any(rule.takes_ahead for rule in touch.rules.values()):
        ordinals = (None, *(device.ordinal for device in cuda.devices))
        return tuple(Observation("preallocate", ordinal, value=False, source=_ON_REQUEST) for ordinal in ordinals)
    allocator = module.cuda.get_allocator()
    replaced = owner(allocator) is not touch and owner(allocator) is not touch.pool
    found = []
    for ordinal in sorted({*(device.ordinal for device in cuda.devices), *touch.taken_ahead}):
        rule = touch.rule(ordinal)
        amount = touch.taken_ahead.get(ordinal)
        if rule is None or not rule.takes_ahead:
            found.append(Observation("preallocate", ordinal, value=False, source=_ON_REQUEST))
        elif amount is None and replaced:
            source = f"{name_of(allocator)}, through which CuPy allocates now,"
            found.append(Observation("preallocate", ordinal, 0, source))
        else:
            why = "" if amount is not None else f"CuPy has not allocated on device {ordinal} yet"
            found.append(Observation("preallocate", ordinal, amount, "gpumem's first allocation", why=why))
    return tuple(found)
