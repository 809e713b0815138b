"""The allocator that sets limits at a device's first allocation."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from gpumem.plugin import Devices, RuntimeCall
from gpumem.testing import RecordedProgress
from gpumem_cupy.installed import installed, installed_or_new
from gpumem_cupy.rule import DRIVER_BLOCK, Rule
from gpumem_cupy.runtime import carry_out

if TYPE_CHECKING:
    from conftest import FakeCupy

GIB, MIB = 1 << 30, 1 << 20


def limit_call(rule: Rule, device: int | None = None, **more: object) -> RuntimeCall:
    return RuntimeCall("set_limit", {**rule.to_arguments(), "device": device, **more})


def apply(cupy: FakeCupy, rule: Rule, device: int | None = None, **more: object) -> RecordedProgress:
    progress = cupy.progress()
    carry_out(limit_call(rule, device, **more), cupy.module, progress)
    return progress


def test_installing_starts_nothing_and_the_first_allocation_sets_the_limit(cupy: FakeCupy) -> None:
    """Until the program allocates, CUDA is not initialised; then the limit is set before memory is granted."""
    progress = apply(cupy, Rule(((0.25, 0),)))
    assert not cupy.initialised
    assert progress.told == [("pending", "until CuPy's first allocation on each device")]
    kept = cupy.allocate(MIB)
    pool = cupy.module.get_default_memory_pool()
    assert pool.get_limit() == 4 * GIB
    assert progress.told[-1] == ("done", "set at the first allocation on device 0")
    with pytest.raises(MemoryError):
        cupy.allocate(4 * GIB)
    del kept


def test_each_device_gets_its_own_limit_and_then_cupy_calls_its_pool_itself(cupy: FakeCupy) -> None:
    """After the last visible device is done, the allocator steps aside."""
    apply(cupy, Rule(((0.0, 2 * GIB),)), 0)
    apply(cupy, Rule(((0.0, 4 * GIB),)), 1)
    pool = cupy.module.get_default_memory_pool()
    for device, limit in ((1, 4 * GIB), (0, 2 * GIB)):
        assert cupy.module.cuda.get_allocator().__self__ is installed(cupy.module)
        cupy.allocate(MIB, device)
        assert pool.get_limit() == limit
    assert cupy.module.cuda.get_allocator().__self__ is pool


def test_inside_of_using_allocator_it_stays_and_still_serves(cupy: FakeCupy) -> None:
    """CuPy refuses to change the global allocator there; no error reaches the program."""
    apply(cupy, Rule(((0.25, 0),)))
    touch = installed_or_new(cupy.module)
    with cupy.module.cuda.using_allocator(touch.malloc):
        for device in (0, 1):
            cupy.allocate(MIB, device)
    assert cupy.module.cuda.get_allocator().__self__ is touch
    assert touch.limits == {0: 4 * GIB, 1: 4 * GIB}


def test_an_allocator_set_later_by_somebody_else_is_left_in_place(cupy: FakeCupy) -> None:
    """Who replaces gpumem's allocator while it works keeps his own."""
    apply(cupy, Rule(((0.25, 0),)))
    touch = installed_or_new(cupy.module)
    cupy.allocate(MIB, 0)
    cupy.module.cuda.set_allocator(None)
    cupy.current = 1
    touch.malloc(MIB)
    assert cupy.module.cuda.get_allocator() is cupy.module.cuda.memory._malloc


def test_the_limit_taken_ahead_stays_cached_in_the_pool(cupy: FakeCupy) -> None:
    """One grant of the whole limit in blocks; what the program asks then is served from it."""
    apply(cupy, Rule(((0.0, 1234567891),), preallocate=True))
    kept = [cupy.allocate(MIB) for _ in range(3)]
    gc.collect()
    assert cupy.granted == [(0, 1234567891 // 512 * 512)]
    assert installed_or_new(cupy.module).taken_ahead == {0: 1234567891 // 512 * 512}
    del kept


def test_taking_ahead_after_the_first_use_only_adds_what_is_missing(cupy: FakeCupy) -> None:
    """Memory that the pool holds already counts."""
    kept = cupy.allocate(GIB)
    progress = apply(cupy, Rule(((0.0, 3 * GIB),), preallocate=2 * GIB))
    assert progress.told[-1][0] == "pending"
    again = cupy.allocate(MIB)
    assert cupy.granted == [(0, GIB), (0, GIB)]
    del kept, again


def test_a_preallocation_that_fails_is_told_and_the_request_is_served(make_cupy: Callable[..., FakeCupy]) -> None:
    """Nothing is raised from the program's own allocation, and the limit holds."""
    cupy = make_cupy("14", (8 * GIB,))
    progress = apply(cupy, Rule(((0.0, 12 * GIB),), preallocate=True))
    assert cupy.allocate(GIB)
    state, text = progress.told[-1]
    assert state == "failed"
    assert text.startswith("the limit holds on device 0, but nothing was taken ahead: OutOfMemoryError: ")
    assert cupy.module.get_default_memory_pool().get_limit() == 12 * GIB


def test_an_unknown_total_is_told_and_the_request_is_served(cupy: FakeCupy) -> None:
    """A share without a total cannot be set; the program goes on, the step has failed."""
    progress = RecordedProgress(Devices(why="nothing tells"))
    carry_out(limit_call(Rule(((0.25, 0),))), cupy.module, progress)
    assert cupy.allocate(GIB)
    assert progress.told[-1] == ("failed", "the device's total is unknown")


def test_what_a_finaliser_allocates_during_the_preparation_is_served(cupy: FakeCupy) -> None:
    """The same thread may come back while the first allocation prepares the device; it must not wait for itself."""
    apply(cupy, Rule(((0.0, 4 * GIB),), preallocate=GIB))
    pool = cupy.module.get_default_memory_pool()
    inner: list[object] = []
    grant = cupy.grant

    def grant_and_allocate(device: int, size: int) -> None:
        cupy.grant = grant  # type: ignore[method-assign]
        inner.append(cupy.allocate(MIB, device))
        grant(device, size)

    cupy.grant = grant_and_allocate  # type: ignore[method-assign]
    kept = cupy.allocate(MIB)
    assert len(inner) == 1
    assert cupy.granted == [(0, MIB), (0, GIB)], "prepared once"
    assert pool.get_limit() == 4 * GIB
    del kept


def test_32_threads_prepare_a_device_once(cupy: FakeCupy) -> None:
    """All of them allocate for the first time at once: one preallocation, one report."""
    progress = apply(cupy, Rule(((0.0, 4 * GIB),), preallocate=True))
    gate = threading.Barrier(32)
    kept: list[object] = []
    grant = cupy.grant

    def grant_slowly(device: int, size: int) -> None:
        time.sleep(0.05)  # so that the others arrive meanwhile
        grant(device, size)

    cupy.grant = grant_slowly  # type: ignore[method-assign]

    def work() -> None:
        gate.wait()
        kept.append(installed_or_new(cupy.module).malloc(MIB))

    threads = [threading.Thread(target=work) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) == 32
    assert cupy.granted == [(0, 4 * GIB)]
    assert [word for word, _ in progress.told] == ["pending", "done"]


def use(cupy: FakeCupy, word: str) -> RecordedProgress:
    progress = cupy.progress()
    carry_out(RuntimeCall("use_allocator", {"word": word}), cupy.module, progress)
    return progress


def test_the_asynchronous_pool_is_made_at_the_first_allocation(cupy: FakeCupy) -> None:
    """Making it touches every device, so it waits; its limit is whole blocks of the driver."""
    progress = use(cupy, "async")
    apply(cupy, Rule(((0.0, 1234567891),)))
    assert not cupy.initialised
    cupy.allocate(MIB)
    touch = installed_or_new(cupy.module)
    assert isinstance(touch.pool, cupy.module.cuda.MemoryAsyncPool)
    assert touch.limits == {0: 1234567891 // DRIVER_BLOCK * DRIVER_BLOCK}
    assert progress.told == [("pending", "until CuPy's first allocation"), ("done", "")]


def test_without_the_asynchronous_pool_the_default_pool_keeps_the_cap(cupy: FakeCupy) -> None:
    """A device that does not support it: the step fails, the program and the limit go on."""
    cupy.async_refused = RuntimeError("Device 0 does not support malloc_async")
    progress = use(cupy, "async")
    limit = apply(cupy, Rule(((0.0, GIB),)))
    assert cupy.allocate(MIB)
    assert progress.told[-1] == ("failed", "Device 0 does not support malloc_async")
    assert limit.told[-1][0] == "done"
    with pytest.raises(MemoryError):
        cupy.allocate(2 * GIB)


def test_a_replaced_pool_gives_back_what_it_has_cached(cupy: FakeCupy) -> None:
    """Its cache would stand beside the new pool's memory, above the cap of both."""
    cupy.allocate(3 * GIB)
    assert cupy.held[0] == 3 * GIB
    use(cupy, "managed")
    assert cupy.held[0] == 0


@pytest.mark.parametrize("word", ["managed", "async"])
def test_arrays_of_the_former_pool_are_taken_off_the_limit(cupy: FakeCupy, word: str) -> None:
    """What exists stays where it is, so the new pool may hold only what is left of the cap; `held` counts both."""
    kept = cupy.allocate(512 * MIB)
    use(cupy, word)
    apply(cupy, Rule(((0.0, 2 * GIB),)))
    cupy.allocate(MIB)
    assert installed_or_new(cupy.module).limits[0] == 2 * GIB - 512 * MIB
    with pytest.raises(MemoryError):
        cupy.allocate(2 * GIB - 256 * MIB)
    del kept


def test_a_cap_below_what_the_former_pool_holds_grants_nothing_more(cupy: FakeCupy) -> None:
    """0 would be no limit to CuPy, so 1 byte is what is left."""
    kept = cupy.allocate(3 * GIB)
    use(cupy, "managed")
    apply(cupy, Rule(((0.0, 2 * GIB),)))
    with pytest.raises(MemoryError):
        cupy.allocate(MIB)
    assert installed_or_new(cupy.module).limits == {0: 1}
    del kept


def test_what_cannot_be_taken_ahead_does_not_make_the_limit_fail(make_cupy: Callable[..., FakeCupy]) -> None:
    """A call each: the one for the limit is done, the one for what is taken ahead fails and says why."""
    cupy = make_cupy(totals=(8 * GIB, 8 * GIB))
    rule = Rule(((0.0, 12 * GIB),), preallocate=True)
    limit = apply(cupy, Rule(rule.bounds))
    ahead = cupy.progress()
    undo = carry_out(RuntimeCall("take_ahead", {**rule.to_arguments(), "device": None}), cupy.module, ahead)
    cupy.allocate(MIB)
    assert limit.told[-1] == ("done", "set at the first allocation on device 0")
    state, why = ahead.told[-1]
    assert state == "failed"
    assert str(why).startswith("the limit holds on device 0, but nothing was taken ahead: OutOfMemoryError: ")
    assert undo is not None
    undo()
    assert installed_or_new(cupy.module).rules == {None: Rule(rule.bounds)}
