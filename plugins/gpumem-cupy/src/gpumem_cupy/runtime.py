"""The calls of a plan, carried out with the imported CuPy."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from gpumem.plugin import Progress, RuntimeCall, Undo, cuda_state
from gpumem_cupy.first_touch import FirstTouch, finite
from gpumem_cupy.installed import installed_or_new
from gpumem_cupy.pools import built_pools, device_pools, is_async_pool, is_memory_pool, owner
from gpumem_cupy.rule import Rule, rule_of

OWN_WAY = "own_way"
"""Nothing is to be done: CuPy does by itself what is asked."""
USE_ALLOCATOR = "use_allocator"
SET_LIMIT = "set_limit"
TAKE_AHEAD = "take_ahead"
"""What is taken at the first touch, beside a limit that another call sets."""

_FIRST_USE = "until CuPy's first allocation"


def carry_out(call: RuntimeCall, module: ModuleType, progress: Progress) -> Undo | None:
    """Carry out one call.

    Raises:
        ValueError: for an unknown call, and by CuPy inside of `cupy.cuda.using_allocator`.
    """
    if call.name == OWN_WAY:
        progress.done()
        return _nothing
    touch = installed_or_new(module)
    if call.name == USE_ALLOCATOR:
        return _use_allocator(touch, module, str(call.arguments["word"]), progress)
    if call.name == SET_LIMIT:
        return _set_limit(touch, module, call.arguments, progress)
    if call.name == TAKE_AHEAD:
        return _take_ahead(touch, call.arguments, progress)
    message = f"{call.name!r} is no call of this plugin"
    raise ValueError(message)


def _nothing() -> None:
    """Take nothing back."""


def _use_allocator(touch: FirstTouch, module: ModuleType, word: str, progress: Progress) -> Undo:
    former = module.cuda.get_allocator()
    if word == "async":
        _serve_from(touch, module, None, word, progress)
        progress.pending(_FIRST_USE)
    elif word == "managed":
        _serve_from(touch, module, module.cuda.MemoryPool(module.cuda.malloc_managed), word, progress)
        progress.done()
    elif word == "direct":
        module.cuda.set_allocator(None)
        progress.done()
    else:
        pool = module.get_default_memory_pool()
        if owner(former) is not pool:
            module.cuda.set_allocator(pool.malloc)
        touch.serve_from(pool, word)
        progress.done()
    if word != "pool":
        _free_cached(module, owner(former))
    own = owner(module.cuda.get_allocator())
    ours = own if own is not None else module.cuda.get_allocator()

    def undo() -> None:
        now = module.cuda.get_allocator()
        pool, touch_pool = owner(now), touch.pool
        if now is ours or pool is ours or (pool is not None and pool is touch_pool):
            module.cuda.set_allocator(former)
        # Who has kept hold of the allocator itself must still be served.
        touch.serve_from(module.get_default_memory_pool(), None)

    return undo


def _serve_from(touch: FirstTouch, module: ModuleType, pool: Any, word: str, progress: Progress) -> None:
    # In this order, because another thread may allocate as soon as the allocator is installed.
    touch.serve_from(pool, word, progress)
    try:
        touch.install()
    except ValueError:
        touch.serve_from(module.get_default_memory_pool(), None)
        raise


def _free_cached(module: ModuleType, pool: object) -> None:
    """Give back what a pool that is no longer used has cached: it would stand beside the new pool's memory."""
    if is_memory_pool(module, pool):
        for device_pool in (device_pools(pool) or {}).values():
            device_pool.free_all_blocks(None)


def _set_limit(touch: FirstTouch, module: ModuleType, arguments: Mapping[str, Any], progress: Progress) -> Undo:
    """Set a device's limit: at once where its pool exists, by the variable or at the first allocation elsewhere."""
    device: int | None = arguments["device"]
    rule = rule_of(arguments)
    by_variable = bool(arguments.get("by_variable", False))
    otherwise = int(arguments.get("otherwise") or 0)
    if touch.word is None:
        touch.serve_from(_pool_in_use(module), None)
    if by_variable and rule.at_most:
        touch.asked.add(rule.at_most)
    touch.add(device, rule, progress)
    done = _set_at_once(touch, module, device, rule, progress)
    beside = touch.give_back_caches() if rule.sets_limit and cuda_state().initialised else 0
    if rule.takes_ahead or not (done or (by_variable and not beside)):
        touch.install()
        where = "on each device" if device is None else f"on device {device}"
        progress.pending(f"{_FIRST_USE} {where}" if not done else f"until CuPy's next allocation {where}")
    else:
        progress.done("" if done else "CuPy reads the variable when it first uses its pool")

    def undo() -> None:
        touch.remove(device)
        if touch.word is None and not touch.rules:
            touch.remove_from_cupy()
        _restore(touch, module, device, otherwise)

    return undo


def _take_ahead(touch: FirstTouch, arguments: Mapping[str, Any], progress: Progress) -> Undo:
    """Take memory at the first allocation, after the limit is set."""
    device: int | None = arguments["device"]
    touch.add_ahead(device, rule_of(arguments), progress)
    touch.install()
    progress.pending(f"{_FIRST_USE} {'on each device' if device is None else f'on device {device}'}")

    def undo() -> None:
        touch.remove_ahead(device)

    return undo


def _pool_in_use(module: ModuleType) -> Any:
    own = owner(module.cuda.get_allocator())
    if isinstance(own, FirstTouch):
        return own.pool
    if is_memory_pool(module, own) or is_async_pool(module, own):
        return own
    return module.get_default_memory_pool()


def _set_at_once(touch: FirstTouch, module: ModuleType, device: int | None, rule: Rule, progress: Progress) -> bool:
    """Set the limit on the pools that exist, and return whether no device is left without it."""
    if not rule.sets_limit:
        return True
    if touch.pool is None or not cuda_state().initialised:
        return False
    pools = built_pools(module, touch.pool)
    if pools is None:
        _set_on_current_device(touch, module, device, rule, progress)
        return False
    covered = [ordinal for ordinal in pools if _covers(touch, device, ordinal)]
    for ordinal in covered:
        touch.set_limit(pools[ordinal], ordinal, touch.limit_on(ordinal, rule, progress))
    if device is not None:
        return bool(covered)
    return set(range(len(cuda_state().devices))) <= set(pools)


def _covers(touch: FirstTouch, device: int | None, ordinal: int) -> bool:
    return ordinal == device if device is not None else ordinal not in touch.rules


def _set_on_current_device(
    touch: FirstTouch, module: ModuleType, device: int | None, rule: Rule, progress: Progress
) -> None:
    """Set the limit by CuPy's own call where the pools cannot be looked at, if that makes no context."""
    current = int(module.cuda.runtime.getDevice())
    if current in cuda_state().contexts and _covers(touch, device, current):
        touch.set_limit(touch.pool, current, touch.limit_on(current, rule, progress))


def _restore(touch: FirstTouch, module: ModuleType, device: int | None, otherwise: int) -> None:
    """Put back the limits that were in force before, on the pools that exist.

    Args:
        touch: what was installed.
        module: CuPy.
        device: the ordinal, None for all devices.
        otherwise: what a pool that was built under gpumem's variable would have had without it; 0 for no limit.
    """
    if touch.pool is None or not cuda_state().initialised:
        return
    for ordinal, pool in (built_pools(module, touch.pool) or {}).items():
        limit = finite(pool.get_limit())
        if not (ordinal == device or (device is None and ordinal not in touch.rules)) or limit not in touch.asked:
            continue
        before = touch.before.pop(ordinal, limit)
        pool.set_limit(size=otherwise if before in touch.asked else before)
        touch.limits.pop(ordinal, None)
