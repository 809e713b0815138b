"""Reading back and detecting: nothing is started, built or changed by looking."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from gpumem.plugin import Answer, FrameworkState, NativeSetting, Observation, RuntimeCall, Size
from gpumem_cupy.detect import detect
from gpumem_cupy.observe import observe
from gpumem_cupy.pools import built_pools, name_of
from gpumem_cupy.rule import Rule
from gpumem_cupy.runtime import carry_out

if TYPE_CHECKING:
    from conftest import FakeCupy

GIB, MIB = 1 << 30, 1 << 20


def seen(cupy: FakeCupy, field: str, device: int | None = None) -> Observation:
    (found,) = [o for o in observe(cupy.module) if (o.field, o.device) == (field, device)]
    return found


def state_of(cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str] | None = None) -> FrameworkState:
    monkeypatch.setitem(sys.modules, "cupy", cupy.module)
    return detect(environ or {})


def test_looking_builds_no_pool_and_starts_nothing(cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy's own get_limit() would build the pools and so freeze the variable."""
    state = state_of(cupy, monkeypatch)
    assert (state.imported, state.started) == (Answer.YES, Answer.NO)
    assert not cupy.initialised
    cupy.initialised = True  # by another framework
    assert state_of(cupy, monkeypatch).started is Answer.NO
    assert seen(cupy, "limit").value is None
    assert seen(cupy, "limit").why
    assert built_pools(cupy.module, cupy.module.get_default_memory_pool()) == {}


def test_after_the_first_use_every_device_that_has_a_pool_is_read(cupy: FakeCupy) -> None:
    """The limit and what is held, whichever device is current, without a context more."""
    kept = cupy.allocate(GIB, 1)
    pool = cupy.module.get_default_memory_pool()
    pool.set_limit(size=3 * GIB)
    cupy.current = 0
    contexts = set(cupy.contexts)
    found = seen(cupy, "limit", 1)
    assert (found.value, found.held, cupy.contexts) == (3 * GIB, GIB, contexts)
    cupy.current = 1
    pool.set_limit(size=0)
    assert seen(cupy, "limit").value == 0, "no limit anywhere is no limit"
    del kept


def test_the_loosest_limit_stands_for_all_devices(make_cupy: Callable[..., FakeCupy]) -> None:
    """A row for all devices must not say in force while one of them has more."""
    cupy = make_cupy("14")
    pool = cupy.module.get_default_memory_pool()
    for device, limit in ((0, 2 * GIB), (1, 4 * GIB)):
        cupy.allocate(MIB, device)
        pool.set_limit(size=limit)
    assert seen(cupy, "limit").value == 4 * GIB
    pool.set_limit(size=0)
    assert seen(cupy, "limit").value == 0


@pytest.mark.parametrize("allocator", ["none", "managed", "foreign"])
def test_what_bypasses_the_pool_has_no_limit_and_is_named(cupy: FakeCupy, allocator: str) -> None:
    """Before and after CUDA runs: 0, with the name of what CuPy allocates through."""

    def foreign(size: int) -> object:
        return size

    chosen = {"none": None, "managed": cupy.module.cuda.malloc_managed, "foreign": foreign}[allocator]
    cupy.module.cuda.set_allocator(chosen)
    for _ in range(2):
        found = seen(cupy, "limit")
        assert found.value == 0
        assert name_of(cupy.module.cuda.get_allocator()) in found.source
        assert ("set_allocator(None)" in found.source) is (allocator == "none")
        cupy.initialised = True
    assert seen(cupy, "limit", 1).value == 0


def test_an_asynchronous_pool_without_a_limit_says_so_as_the_other_pool_does(cupy: FakeCupy) -> None:
    """CuPy says 0 for one kind of pool and 2**64 - 1 for the other; a report says 0 for both."""
    cupy.module.cuda.set_allocator(cupy.module.cuda.MemoryAsyncPool().malloc)
    kept = cupy.allocate(GIB, 1)
    assert (seen(cupy, "limit").value, seen(cupy, "limit", 1).value) == (0, 0)
    cupy.module.cuda.get_allocator().__self__.set_limit(size=2 * GIB)
    assert (seen(cupy, "limit", 1).value, seen(cupy, "limit", 1).held) == (2 * GIB, GIB)
    del kept


def test_a_waiting_device_is_pending_with_the_reason(cupy: FakeCupy) -> None:
    """Device 1 has not been touched: its limit and preallocation are unknown, device 0's are known."""
    for device in (0, 1):
        call = RuntimeCall("set_limit", {**Rule(((0.0, 2 * GIB),), preallocate=GIB).to_arguments(), "device": device})
        carry_out(call, cupy.module, cupy.progress())
    cupy.allocate(MIB, 0)
    assert (seen(cupy, "limit", 0).value, seen(cupy, "preallocate", 0).value) == (2 * GIB, GIB)
    assert (seen(cupy, "limit", 1).value, seen(cupy, "preallocate", 1).value) == (None, None)
    assert seen(cupy, "preallocate", 1).why == "CuPy has not allocated on device 1 yet"


def test_what_waits_and_is_bypassed_is_not_called_pending(cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody replaces the allocator before the first allocation: the limit is none, and nothing waits."""
    call = RuntimeCall("set_limit", {**Rule(((0.25, 0),), preallocate=GIB).to_arguments(), "device": None})
    carry_out(call, cupy.module, cupy.progress())
    cupy.module.cuda.set_allocator(None)
    kept = cupy.allocate(8 * GIB)
    assert state_of(cupy, monkeypatch).started is Answer.YES
    assert (seen(cupy, "limit").value, seen(cupy, "preallocate").value) == (0, 0)
    assert "_malloc" in seen(cupy, "preallocate").source
    del kept


def test_a_share_of_an_unknown_total_is_read_back_as_a_share(cupy: FakeCupy) -> None:
    """The plan could not name bytes, so the read-back does not either."""
    carry_out(
        RuntimeCall("set_limit", {**Rule(((0.25, 0),)).to_arguments(), "device": None}), cupy.module, cupy.progress()
    )
    cupy.allocate(MIB)
    assert seen(cupy, "limit", 0).value == 0.25


def test_an_opaque_pool_is_read_on_the_current_device_only(
    make_cupy: Callable[..., FakeCupy], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether its pools are built is unknown; a device without a context is not touched to find out."""
    cupy = make_cupy("opaque")
    cupy.allocate(GIB, 0)
    cupy.module.get_default_memory_pool().set_limit(size=2 * GIB)
    assert state_of(cupy, monkeypatch).started is Answer.UNKNOWN
    assert seen(cupy, "limit", 0).value == 2 * GIB
    assert seen(cupy, "limit", 1).value is None
    cupy.current = 1
    assert seen(cupy, "limit", 1).value is None
    assert cupy.contexts == {0}


def test_a_limit_set_by_the_user_is_his_and_one_from_the_variable_or_gpumem_is_not(
    cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """His call counts as his own setting of that device; the same value from elsewhere does not."""
    monkeypatch.setenv("CUPY_GPU_MEMORY_LIMIT", str(GIB))
    cupy.allocate(MIB, 1)
    assert state_of(cupy, monkeypatch).settings == ()
    cupy.module.get_default_memory_pool().set_limit(size=3 * GIB)
    (setting,) = state_of(cupy, monkeypatch).settings
    assert setting == NativeSetting("cap", Size(bytes=3 * GIB), "set_limit() of CuPy's pool", 1)
    call = RuntimeCall("set_limit", {**Rule(((0.0, 2 * GIB),)).to_arguments(), "device": 1})
    carry_out(call, cupy.module, cupy.progress())
    assert state_of(cupy, monkeypatch).settings == ()


def test_allocators_are_told_apart(cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy's own by the policy's word, as the user's setting; a foreign one by its name only; gpumem's not at all."""
    cuda = cupy.module.cuda
    default = cuda.get_allocator()
    for allocator, kind, word in (
        (cuda.MemoryPool().malloc, "pool", "pool"),
        (cuda.MemoryPool(cuda.malloc_managed).malloc, "pool", "managed"),
        (cuda.MemoryAsyncPool().malloc, "async", "async"),
        (None, "direct", "direct"),
        (lambda size: size, "foreign", None),
        (default, "default", None),
    ):
        cuda.set_allocator(allocator)
        state = state_of(cupy, monkeypatch)
        assert state.details["allocator"] == kind
        assert [setting.value for setting in state.settings] == ([word] if word else [])
    carry_out(RuntimeCall("use_allocator", {"word": "managed"}), cupy.module, cupy.progress())
    state = state_of(cupy, monkeypatch)
    assert (state.details["allocator"], state.settings) == ("gpumem", ())


def test_a_users_pool_behind_gpumems_allocator_is_still_his(cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second configure() must not take his pool for CuPy's default."""
    cupy.module.cuda.set_allocator(cupy.module.cuda.MemoryPool(cupy.module.cuda.malloc_managed).malloc)
    carry_out(
        RuntimeCall("set_limit", {**Rule(((0.25, 0),)).to_arguments(), "device": None}), cupy.module, cupy.progress()
    )
    assert [setting.value for setting in state_of(cupy, monkeypatch).settings] == ["managed"]


def test_a_module_that_is_no_cupy_is_not_imported_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the user's with CuPy's name, and a CuPy that is still initialising."""
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    assert detect({}).imported is Answer.NO
    assert observe(sys.modules["cupy"]) == ()
