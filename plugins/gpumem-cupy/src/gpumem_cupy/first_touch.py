"""An allocator that sets a device's limit, and takes memory ahead, at the device's first allocation.

Why an allocator, and when: a limit in bytes that is the same for all devices goes into CUPY_GPU_MEMORY_LIMIT, which
puts nothing of ours into CuPy's path, is read by every pool of the process and reaches child processes. What a
variable cannot say (limits that differ by device, shares of a total that only the driver knows, memory taken ahead,
a pool of another kind) needs the current device, and asking for it at configure() would start CUDA and make
contexts. So it waits for the first allocation on the device, when the program itself has just started it. Setting
an allocator calls nothing of CUDA (cupy/cuda/memory.pyx 14.2.0, line 907).

The limits could also all stand in this allocator alone. They do not, because the last caller of
`cupy.cuda.set_allocator` wins silently: a variable survives that for every MemoryPool that is made later. The price
is that several pools have the limit each.
"""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

from gpumem.plugin import Progress
from gpumem_cupy.pools import built_pools, is_async_pool, owner
from gpumem_cupy.rule import DRIVER_BLOCK, Rule

Report = Callable[[], None]


class FirstTouch:
    """The rules for each device, and the allocator that applies them.

    Attributes:
        word: the allocator's word in policies; None leaves the pool that was in use.
        rules: by ordinal; None is for every device without a rule of its own.
        limits: bytes set so far, by ordinal; 0 where a limit was taken away.
        taken_ahead: bytes taken ahead so far, by ordinal.
        before: the limits that were in force before the first change, by ordinal.
        asked: every limit in bytes that gpumem has asked for, by variable or by call.
    """

    def __init__(self, module: ModuleType) -> None:
        """Have no rules, and the default pool to serve requests."""
        self.word: str | None = None
        self.rules: dict[int | None, Rule] = {}
        self.limits: dict[int, int] = {}
        self.taken_ahead: dict[int, int] = {}
        self.before: dict[int, int] = {}
        self.asked: set[int] = set()
        self._module = weakref.ref(module)
        self._progress: dict[int | None, Progress] = {}
        self._about_ahead: dict[int | None, Progress] = {}
        self._about_allocator: Progress | None = None
        self._pool: Any = None
        self._earlier: list[Any] = []
        self._former: Any = None
        self._ready: frozenset[int] = frozenset()
        self._preparing: set[int] = set()
        self._lock = threading.RLock()
        # A thread of the parent may hold the lock at a fork; in the child it would never be released.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_new_lock, weakref.ref(self)))

    @property
    def pool(self) -> Any:
        """The pool that serves the requests; None where it is not built yet."""
        return self._pool

    @property
    def module(self) -> Any:
        """The CuPy it belongs to."""
        module = self._module()
        assert module is not None
        return module

    def in_force(self) -> bool:
        """Return whether CuPy allocates through this object now."""
        return owner(self.module.cuda.get_allocator()) is self

    def waits(self, device: int) -> bool:
        """Return whether something is to happen at the next allocation on `device`."""
        return device not in self._ready and self.in_force()

    def rule(self, device: int) -> Rule | None:
        """Return the rule for a device."""
        return self.rules.get(device, self.rules.get(None))

    def add(self, device: int | None, rule: Rule, progress: Progress) -> None:
        """Add the rule for a device (None: for all the others); it is applied at the next allocation."""
        with self._lock:
            self.rules[device] = rule
            self._progress[device] = progress
            self._ready = frozenset()

    def add_ahead(self, device: int | None, rule: Rule, progress: Progress) -> None:
        """Replace a rule by one that also takes memory ahead, which is told of by a progress of its own."""
        with self._lock:
            self.rules[device] = rule
            self._about_ahead[device] = progress
            self._ready = frozenset()

    def remove_ahead(self, device: int | None) -> None:
        """Take nothing ahead any more; the limit stays."""
        with self._lock:
            self._about_ahead.pop(device, None)
            if device in self.rules:
                self.rules[device] = replace(self.rules[device], preallocate=None)

    def remove(self, device: int | None) -> None:
        """Forget a rule."""
        with self._lock:
            self.rules.pop(device, None)
            self._progress.pop(device, None)

    def serve_from(self, pool: Any, word: str | None, progress: Progress | None = None) -> None:
        """Serve requests from `pool`; None for an asynchronous pool that is still to be built."""
        with self._lock:
            if self._pool is not None and self._pool is not pool:
                self._earlier.append(self._pool)
            self._pool = pool
            self.word = word
            self._about_allocator = progress
            self._ready = frozenset()

    def install(self) -> None:
        """Make CuPy allocate through this object. Calls nothing of CUDA.

        Raises:
            ValueError: inside of `cupy.cuda.using_allocator`, by CuPy.
        """
        current = self.module.cuda.get_allocator()
        if owner(current) is self:
            return
        self.module.cuda.set_allocator(self.malloc)
        self._former = current

    def remove_from_cupy(self) -> None:
        """Put the allocator back that was in use before, if nobody has replaced this one."""
        if self.in_force():
            self.module.cuda.set_allocator(self._former)
        self._former = None

    def malloc(self, size: int) -> Any:
        """Return memory on the current device, as the pool does; the allocator that CuPy calls."""
        # As the pool's own malloc, this starts CUDA, and raises what that raises without a driver.
        device: int = self.module.cuda.runtime.getDevice()
        if device not in self._ready:
            self._prepare(device)
        return self._pool.malloc(size)

    def _prepare(self, device: int) -> None:
        reports: list[Report] = []
        with self._lock:
            # What the preparation allocates, or a finaliser that it triggers, comes back here in this thread.
            if device not in self._ready and device not in self._preparing:
                self._preparing.add(device)
                try:
                    self._build_pool(reports)
                    self._apply_rule(device, reports)
                finally:
                    self._preparing.discard(device)
                    self._ready |= {device}
                self._step_aside()
        for report in reports:  # outside of the lock: a report may take others
            report()

    def _build_pool(self, reports: list[Report]) -> None:
        if self._pool is not None:
            return
        if self.word != "async":
            self._pool = self.module.get_default_memory_pool()
            return
        progress = self._about_allocator
        try:
            with warnings.catch_warnings():
                # CuPy 13 calls the class experimental; the word "async" in the policy is the consent.
                warnings.simplefilter("ignore", FutureWarning)
                self._pool = self.module.cuda.MemoryAsyncPool()
        except Exception as error:  # noqa: BLE001 - told through progress; the program's own request must go on
            self._pool = self.module.get_default_memory_pool()
            if progress:
                reports.append(partial(progress.failed, error))
        else:
            if progress:
                reports.append(progress.done)

    def _apply_rule(self, device: int, reports: list[Report]) -> None:
        rule = self.rule(device)
        if rule is None:
            return
        key = device if device in self.rules else None
        progress = self._progress.get(key) or self._about_ahead[key]
        ahead = self._about_ahead.get(key)
        told = [progress] if ahead in (None, progress) else [progress, ahead]
        holds = ""
        try:
            if rule.sets_limit:
                self.set_limit(self._pool, device, self.limit_on(device, rule, progress))
                holds = f"the limit holds on device {device}, but nothing was taken ahead: "
                if len(told) > 1:
                    reports.append(partial(told.pop(0).done, f"set at the first allocation on device {device}"))
            self._take_ahead(device, rule)
        except Exception as error:  # noqa: BLE001 - told through progress; the program's own request must go on
            why = f"{holds}{type(error).__name__}: {error}" if holds else error
            reports.extend(partial(one.failed, why) for one in told)
        else:
            reports.extend(partial(one.done, f"set at the first allocation on device {device}") for one in told)

    def limit_on(self, device: int, rule: Rule, progress: Progress) -> int:
        """Return the limit in bytes for a device, with the driver's own total; 0 for none."""
        total = progress.devices().total(device) if rule.needs_total else None
        limit = rule.limit(total)
        if limit:
            # Arrays from before a change of allocator stay where they are, and count; 0 would be no limit.
            self.give_back_caches()
            limit = max(limit - self.held_elsewhere(device), 1)
        if limit and (self.word == "async" or is_async_pool(self.module, self._pool)):
            # The driver's pool grows in whole blocks: only whole blocks of limit are never exceeded.
            limit = max(limit // DRIVER_BLOCK * DRIVER_BLOCK, 1)
        return limit

    def held_elsewhere(self, device: int) -> int:
        """Return the bytes that CuPy's other pools hold on a device: the default one, and those used before."""
        return sum(int(pools[device].total_bytes()) for pools in self._others() if device in pools)

    def give_back_caches(self) -> int:
        """Free what pools that serve no more have cached; return the bytes that their arrays still hold."""
        parts = [part for pools in self._others() for part in pools.values()]
        for part in parts:
            part.free_all_blocks(None)
        return sum(int(part.total_bytes()) for part in parts)

    def _others(self) -> list[Mapping[int, Any]]:
        """Return the pools that do not serve requests, each by device."""
        found: list[Any] = []
        for pool in (self.module.get_default_memory_pool(), *self._earlier):
            # Every asynchronous pool is a front to the same pool of the driver: it counts once.
            is_async = is_async_pool(self.module, pool)
            same = [is_async and is_async_pool(self.module, other) for other in (self._pool, *found)]
            if pool is not self._pool and not any(pool is other for other in found) and not any(same):
                found.append(pool)
        return [built_pools(self.module, pool) or {} for pool in found]

    def set_limit(self, target: Any, device: int, limit: int) -> None:
        """Set the limit on a pool, whose current device is `device`, or on that device's own pool."""
        self.before.setdefault(device, finite(target.get_limit()))
        target.set_limit(size=limit)
        self.limits[device] = limit
        self.asked.add(limit)

    def _take_ahead(self, device: int, rule: Rule) -> None:
        if not rule.takes_ahead:
            return
        wanted = rule.ahead(finite(self._pool.get_limit()))
        missing = wanted - self._pool.total_bytes()
        if missing > 0:
            # Freed at once, the block stays in the pool for the stream that is current now.
            self._pool.malloc(missing)
        self.taken_ahead[device] = wanted

    def _step_aside(self) -> None:
        """Let CuPy call the pool itself once every visible device is done."""
        count: int = self.module.cuda.runtime.getDeviceCount()
        if not self._ready.issuperset(range(count)) or not self.in_force():
            return
        try:
            self.module.cuda.set_allocator(self._pool.malloc)
        except ValueError:  # inside of `using_allocator` the global allocator cannot be changed; staying is correct too
            return


def finite(limit: int) -> int:
    """Return a limit with 0 for none, as MemoryPool says it and MemoryAsyncPool does not."""
    return 0 if limit >= (1 << 63) else limit


def _new_lock(reference: weakref.ref[FirstTouch]) -> None:
    touch = reference()
    if touch is not None:
        touch._lock = threading.RLock()
        touch._preparing.clear()
