"""Calls on a CuPy that runs already, and taking them back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from gpumem.plugin import RuntimeCall
from gpumem.testing import RecordedProgress
from gpumem_cupy.installed import installed
from gpumem_cupy.observe import observe
from gpumem_cupy.rule import Rule
from gpumem_cupy.runtime import carry_out

if TYPE_CHECKING:
    from conftest import FakeCupy

GIB, MIB = 1 << 30, 1 << 20


def apply(cupy: FakeCupy, rule: Rule, device: int | None = None, **more: object) -> tuple[RecordedProgress, object]:
    progress = cupy.progress()
    call = RuntimeCall("set_limit", {**rule.to_arguments(), "device": device, **more})
    return progress, carry_out(call, cupy.module, progress)


def limit_on(cupy: FakeCupy, device: int) -> int:
    cupy.current = device
    return int(cupy.module.get_default_memory_pool().get_limit())


def test_a_running_pool_is_limited_at_once_without_another_context(cupy: FakeCupy) -> None:
    """The device in use has its limit now; the other one at once too, or at its first allocation."""
    kept = cupy.allocate(GIB, 1)
    contexts = set(cupy.contexts)
    apply(cupy, Rule(((0.5, 0),)))
    assert cupy.contexts == contexts
    assert limit_on(cupy, 1) == 8 * GIB
    cupy.allocate(MIB, 0)
    assert limit_on(cupy, 0) == 8 * GIB
    del kept


def test_a_variable_needs_no_allocator_of_ours(cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first use nothing is installed: CuPy reads the variable by itself."""
    monkeypatch.setenv("CUPY_GPU_MEMORY_LIMIT", str(GIB))
    progress, _undo = apply(cupy, Rule(((0.0, GIB),), at_most=GIB), by_variable=True)
    assert progress.told[-1][0] == "done"
    assert cupy.module.cuda.get_allocator().__self__ is cupy.module.get_default_memory_pool()
    cupy.allocate(MIB)
    assert limit_on(cupy, 0) == GIB


@pytest.mark.parametrize("moment", ["before the first use", "after it"])
def test_undo_puts_back_the_allocator_and_the_limits(cupy: FakeCupy, moment: str) -> None:
    """The user's own limit of 5 GiB is there again."""
    pool = cupy.module.get_default_memory_pool()
    if moment == "after it":
        cupy.allocate(MIB)
        pool.set_limit(size=5 * GIB)
    _progress, undo = apply(cupy, Rule(((0.25, 0),), preallocate=GIB))
    cupy.allocate(MIB)
    assert limit_on(cupy, 0) == 4 * GIB
    assert callable(undo)
    undo()
    assert limit_on(cupy, 0) == (5 * GIB if moment == "after it" else 0)
    assert cupy.module.cuda.get_allocator().__self__ is pool
    assert cupy.allocate(MIB, 1)


def test_undo_gives_a_pool_built_under_gpumems_variable_what_it_would_have_had(
    cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's variable said 3 GiB before it was overruled."""
    monkeypatch.setenv("CUPY_GPU_MEMORY_LIMIT", str(GIB))
    _progress, undo = apply(cupy, Rule(((0.0, GIB),), at_most=GIB), by_variable=True, otherwise=3 * GIB)
    cupy.allocate(MIB)
    assert callable(undo)
    undo()
    assert limit_on(cupy, 0) == 3 * GIB


@pytest.mark.parametrize("word", ["managed", "async", "direct", "pool"])
def test_undo_brings_the_users_allocator_back(cupy: FakeCupy, word: str) -> None:
    """Whatever was in use before, even after an allocation."""
    own = cupy.module.cuda.MemoryPool()
    cupy.module.cuda.set_allocator(own.malloc)
    undo = carry_out(RuntimeCall("use_allocator", {"word": word}), cupy.module, cupy.progress())
    cupy.allocate(MIB)
    seen = {o.field: o.value for o in observe(cupy.module) if o.device is None}
    assert seen["allocator"] == word
    assert undo is not None
    undo()
    assert cupy.module.cuda.get_allocator().__self__ is own


def test_a_users_own_pool_is_the_one_that_is_limited(cupy: FakeCupy) -> None:
    """The limit goes to the pool in use, not to the default pool that nobody asks."""
    own = cupy.module.cuda.MemoryPool()
    cupy.module.cuda.set_allocator(own.malloc)
    apply(cupy, Rule(((0.0, GIB),)))
    cupy.allocate(MIB)
    cupy.current = 0
    assert (own.get_limit(), limit_on(cupy, 0)) == (GIB, 0)


def test_pools_that_cannot_be_looked_at_are_limited_where_no_context_is_made(
    make_cupy: Callable[..., FakeCupy],
) -> None:
    """A CuPy with another layout: the current device by CuPy's own call, the others at their first allocation."""
    cupy = make_cupy("opaque")
    cupy.allocate(GIB, 1)
    contexts = set(cupy.contexts)
    progress, _undo = apply(cupy, Rule(((0.0, 2 * GIB),)))
    assert (limit_on(cupy, 1), cupy.contexts) == (2 * GIB, contexts)
    assert progress.told[-1][0] == "pending"
    cupy.allocate(MIB, 0)
    assert limit_on(cupy, 0) == 2 * GIB


def test_inside_of_using_allocator_the_step_fails_with_cupys_own_words(cupy: FakeCupy) -> None:
    """Nothing is half installed: the rule may stay, the allocator does not change."""
    with (
        cupy.module.cuda.using_allocator(cupy.module.get_default_memory_pool().malloc),
        pytest.raises(ValueError, match="using_allocator"),
    ):
        apply(cupy, Rule(((0.25, 0),)))
    touch = installed(cupy.module)
    assert touch is not None
    assert not touch.in_force()


@pytest.mark.parametrize("word", ["managed", "async"])
def test_an_allocator_that_could_not_be_installed_leaves_the_default_pool(cupy: FakeCupy, word: str) -> None:
    """The refused step leaves nothing behind that a later one would build on."""
    with (
        cupy.module.cuda.using_allocator(cupy.module.get_default_memory_pool().malloc),
        pytest.raises(ValueError, match="using_allocator"),
    ):
        carry_out(RuntimeCall("use_allocator", {"word": word}), cupy.module, cupy.progress())
    apply(cupy, Rule(((0.0, GIB),)))
    cupy.allocate(MIB)
    assert limit_on(cupy, 0) == GIB


def test_an_unknown_call_is_an_error(cupy: FakeCupy) -> None:
    """A plan of another version of the plugin is not half understood."""
    with pytest.raises(ValueError, match="no call of this plugin"):
        carry_out(RuntimeCall("fly"), cupy.module, cupy.progress())


def test_cupys_own_way_changes_nothing_and_can_be_taken_back(cupy: FakeCupy) -> None:
    """A field that asks for what CuPy does anyway."""
    progress = cupy.progress()
    undo = carry_out(RuntimeCall("own_way"), cupy.module, progress)
    assert undo is not None
    undo()
    assert progress.told == [("done", "")]
    assert not cupy.initialised
