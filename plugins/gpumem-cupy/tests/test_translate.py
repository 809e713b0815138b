"""The policy as a plan: which step, by which way, and what is not expressed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumem.plugin import (
    Answer,
    Bound,
    Budget,
    Budgets,
    Comparison,
    Deadline,
    FrameworkSettings,
    FrameworkState,
    Limit,
    Moment,
    Origin,
    Plan,
    Preallocation,
    Rank,
    RemoveVariable,
    Resolved,
    RuntimeCall,
    SetVariable,
)
from gpumem_cupy.translate import translate

GIB = 1 << 30
HERE = Origin(Rank.ARGUMENTS, "test.py:1")
USERS = Origin(Rank.NATIVE, "environment CUPY_GPU_MEMORY_LIMIT")
NAME = "CUPY_GPU_MEMORY_LIMIT"
FRESH = FrameworkState(versions={"cupy-cuda12x": "14.2.0"})


def cap(amount: int, origin: Origin = HERE) -> Bound:
    return Bound("cap", 0.0, amount, str(amount), origin)


def fraction(share: float, origin: Origin = HERE) -> Bound:
    return Bound("fraction", share, 0, str(share), origin)


def budget(*bounds: Bound, ordinal: int | None = None, ahead: bool | int | None = None, **more: Any) -> Budget:
    preallocate = None if ahead is None else Preallocation(ahead, HERE)
    return Budget(ordinal, limit=Limit(bounds) if bounds else None, preallocate=preallocate, **more)


def plan_of(
    *devices: Budget,
    others: Budget | None = None,
    state: FrameworkState = FRESH,
    environ: dict[str, str] | None = None,
    **settings: Any,
) -> Plan:
    """Plan for these devices and no others, or for any device with `others` alone."""
    budgets = Budgets(devices, others or Budget(None), complete=others is None)
    chosen = {
        name: value if name == "options" else Resolved(value, HERE)  # type: ignore[arg-type]
        for name, value in settings.items()
    }
    return translate(FrameworkSettings("cupy", **chosen), budgets, state, environ or {})


def actions(plan: Plan) -> list[str]:
    return [str(step.action) for step in plan.steps]


def call(plan: Plan, position: int = -1) -> RuntimeCall:
    action = plan.steps[position].action
    assert isinstance(action, RuntimeCall)
    return action


def test_a_cap_in_bytes_goes_into_the_variable_unconverted() -> None:
    """The variable needs no total and reaches children; the call only serves pools that exist already."""
    plan = plan_of(others=budget(cap(1234567891), ahead=False))
    assert plan.steps[0].action == SetVariable(NAME, "1234567891")
    assert (plan.steps[0].moment, plan.steps[0].reasserted) == (Moment.NOW, False)
    assert call(plan).arguments["by_variable"] is True
    assert plan.steps[1].fields == ("limit", "preallocate")
    expected = [(e.field, e.device, e.value) for e in plan.expectations]
    assert expected == [("limit", None, 1234567891), ("preallocate", None, False)]


def test_no_step_of_cupy_can_come_too_late() -> None:
    """CuPy changes limits and allocators at any time, so every step's deadline is never."""
    started = FrameworkState(imported=Answer.YES, started=Answer.YES)
    for state in (FRESH, started):
        plan = plan_of(others=budget(cap(GIB), ahead=True), state=state, allocator="async", visible="all")
        assert {step.deadline for step in plan.steps} == {Deadline.NEVER}


@pytest.mark.parametrize("total", [None, 16 * GIB])
def test_a_fraction_is_resolved_with_the_drivers_total_at_the_first_touch(total: int | None) -> None:
    """What NVML says is only an upper bound; without it the share itself is expected."""
    plan = plan_of(budget(fraction(0.25), ordinal=0, total=total))
    arguments = call(plan).arguments
    assert arguments["bounds"] == [[0.25, 0]]
    assert arguments["at_most"] == (None if total is None else 4 * GIB)
    assert arguments["by_variable"] is False
    (expectation,) = plan.expectations
    assert expectation.comparison is Comparison.LIMIT
    assert (expectation.value, expectation.unit) == ((0.25, "fraction") if total is None else (4 * GIB, "bytes"))
    assert any(isinstance(step.action, SetVariable) for step in plan.steps) is (total is not None)


def test_where_the_card_is_uncertain_the_share_itself_is_expected() -> None:
    """Which of two unequal cards an ordinal means is known at the first touch; until then the variable is careful."""
    uncertain = [budget(fraction(0.5), ordinal=n, ahead=True, total=8 * GIB, largest_total=16 * GIB) for n in (0, 1)]
    plan = plan_of(*uncertain)
    assert call(plan).arguments["at_most"] is None
    assert plan.steps[0].action == SetVariable(NAME, str(4 * GIB))
    limit, ahead = plan.expectations
    assert (limit.value, limit.unit, ahead.value) == (0.5, "fraction", 8 * GIB)


def test_different_devices_get_a_call_each_and_no_variable() -> None:
    """One variable cannot say two limits; the report has a row per device."""
    plan = plan_of(budget(cap(2 * GIB), ordinal=0), budget(cap(4 * GIB), ordinal=1, ahead=GIB))
    assert [step.device for step in plan.steps] == [0, 1, 1]
    assert [step.fields for step in plan.steps] == [("limit",), ("limit",), ("preallocate",)]
    assert [(e.field, e.device) for e in plan.expectations] == [("limit", 0), ("limit", 1), ("preallocate", 1)]


def test_equal_limits_under_different_preallocations_share_the_variable() -> None:
    """The limit is the same for all, what is taken ahead is not."""
    plan = plan_of(budget(cap(2 * GIB), ordinal=0, ahead=False), budget(cap(2 * GIB), ordinal=1, ahead=True))
    assert plan.steps[0].action == SetVariable(NAME, str(2 * GIB))
    assert [step.device for step in plan.steps] == [None, 0, 1, 1]


def test_the_users_own_limit_is_kept_and_verified() -> None:
    """Where his variable decides, it is listed with its value, not rewritten otherwise, and expected."""
    plan = plan_of(others=budget(cap(GIB, USERS), ahead=False), environ={NAME: str(GIB)})
    assert not any(isinstance(step.action, SetVariable | RemoveVariable) for step in plan.steps)
    assert call(plan).name == "own_way"
    assert [(e.field, e.value) for e in plan.expectations] == [("limit", GIB), ("preallocate", False)]


def test_the_users_percentage_is_kept_and_read_back_as_a_share() -> None:
    """Without a total only the share can be compared."""
    plan = plan_of(others=budget(fraction(0.5, USERS)), environ={NAME: "50%"})
    assert call(plan).arguments["kept_share"] == 0.5
    assert call(plan).arguments["bounds"] == []
    assert [(e.value, e.unit) for e in plan.expectations] == [(0.5, "fraction")]


def test_the_users_limit_narrowed_by_a_headroom_is_gpumems() -> None:
    """A bound of his beside one of ours: the smaller wins, so the variable is written."""
    headroom = Bound("headroom", 0.5, -GIB, "1GiB", HERE)
    plan = plan_of(budget(cap(12 * GIB, USERS), headroom, ordinal=0, total=16 * GIB), environ={NAME: str(12 * GIB)})
    assert plan.steps[0].action == SetVariable(NAME, str(7 * GIB))


def test_an_overruled_variable_that_cannot_be_rewritten_is_removed() -> None:
    """Limits that differ by device leave it nothing to say, and an unreadable value would make CuPy raise."""
    devices = (budget(cap(2 * GIB), ordinal=0), budget(cap(4 * GIB), ordinal=1))
    assert RemoveVariable(NAME) in [s.action for s in plan_of(*devices, environ={NAME: "1GiB"}).steps]
    kept = plan_of(devices[0], budget(cap(GIB, USERS), ordinal=1), environ={NAME: str(GIB)})
    assert not any(isinstance(step.action, RemoveVariable) for step in kept.steps), "device 1 still needs it"


def test_no_limit_explicitly_removes_only_what_there_is() -> None:
    """A declared "none" without a limit anywhere asks for nothing."""
    assert plan_of(others=budget(unlimited_because=HERE)).steps == ()
    plan = plan_of(others=budget(unlimited_because=HERE), environ={NAME: str(GIB)})
    assert plan.steps[0].action == RemoveVariable(NAME)
    assert call(plan).arguments["unlimited"] is True
    imported = FrameworkState(imported=Answer.YES)
    assert call(plan_of(others=budget(unlimited_because=HERE), state=imported)).arguments["unlimited"] is True


def test_a_limit_beats_the_direct_allocator() -> None:
    """Without a pool nothing holds a limit: the pool stays, and the word is listed."""
    plan = plan_of(others=budget(cap(GIB)), allocator="direct")
    assert [item.field for item in plan.not_expressed] == ["allocator"]
    assert actions(plan)[0] == f"{NAME}={GIB}"
    users = FrameworkState(imported=Answer.YES, details={"allocator": "direct"})
    back = plan_of(others=budget(cap(GIB)), allocator="direct", state=users)
    assert "get_default_memory_pool" in actions(back)[0], "the user's set_allocator(None) is taken back"
    assert plan_of(allocator="direct").not_expressed == ()


def test_managed_memory_cannot_be_taken_ahead() -> None:
    """Its pages are placed when they are used, so the field is listed and the limit kept."""
    plan = plan_of(others=budget(cap(GIB), ahead=True), allocator="managed")
    assert [item.field for item in plan.not_expressed] == ["preallocate"]
    assert {e.field: e.value for e in plan.expectations} == {"allocator": "managed", "limit": GIB}


def test_the_asynchronous_pool_is_limited_by_a_call() -> None:
    """It needs whole blocks of the driver, which the variable would not give it; children still get the variable."""
    plan = plan_of(others=budget(cap(GIB)), allocator="async")
    assert [step.fields for step in plan.steps] == [("allocator",), ("limit",), ("limit",)]
    assert plan.steps[1].reasserted
    assert call(plan).arguments["by_variable"] is False


def test_a_foreign_allocator_is_kept_and_named() -> None:
    """Whoever replaced CuPy's pool is named in each refusal; nothing is changed."""
    state = FrameworkState(imported=Answer.YES, details={"allocator": "foreign", "who": "rmm.allocator"})
    plan = plan_of(others=budget(cap(GIB), ahead=True), state=state, allocator="pool")
    assert plan.steps == ()
    assert [item.field for item in plan.not_expressed] == ["allocator", "limit", "preallocate"]
    assert all("rmm.allocator" in item.reason for item in plan.not_expressed)


@pytest.mark.parametrize(("value", "advice"), [("none", "=-1"), ((1,), "=1"), ((0, 1, 2), "=0,1,2")])
def test_visibility_is_refused_with_the_variable_to_set(value: object, advice: str) -> None:
    """CUDA_VISIBLE_DEVICES is for the person who starts the program: it holds for every framework in it."""
    plan = plan_of(budget(ordinal=0), budget(ordinal=1), visible=value)
    (refused,) = plan.not_expressed
    assert (refused.field, f"CUDA_VISIBLE_DEVICES{advice}," in refused.reason) == ("visible", True)


@pytest.mark.parametrize("value", ["all", (0, 1)])
def test_seeing_everything_is_cupys_own_way(value: object) -> None:
    """All devices, in the word or as the whole list."""
    plan = plan_of(budget(ordinal=0), budget(ordinal=1), visible=value)
    assert (plan.not_expressed, [step.fields for step in plan.steps]) == ((), [("visible",)])


def test_nothing_asked_is_nothing_done() -> None:
    """Without a policy, and with allocator=default, CuPy is left alone."""
    assert plan_of() == Plan("cupy")
    assert plan_of(allocator="default") == Plan("cupy")


@given(
    st.lists(st.integers(1 << 20, 200 * GIB), min_size=1, max_size=4),
    st.sampled_from(["pool", "async", "managed", "direct", "vmm", "default"]),
    st.sampled_from([None, False, True, GIB]),
)
def test_nothing_that_is_sent_is_above_the_cap(caps: list[int], word: str, ahead: bool | int | None) -> None:
    """Neither the variable, nor a call's bound, nor an expectation exceeds the cap of its device."""
    devices = [budget(cap(amount), ordinal=n, ahead=ahead) for n, amount in enumerate(caps)]
    plan = plan_of(*devices, allocator=word)
    for step in plan.steps:
        allowed = min(caps) if step.device is None else caps[step.device]
        if isinstance(step.action, SetVariable):
            assert int(step.action.value) <= allowed
        elif isinstance(step.action, RuntimeCall) and step.action.name == "set_limit":
            assert all(amount <= allowed for _, amount in step.action.arguments["bounds"])  # type: ignore[attr-defined]
    for expectation in plan.expectations:
        if expectation.comparison is Comparison.LIMIT:
            allowed = min(caps) if expectation.device is None else caps[expectation.device]
            assert 0 < int(str(expectation.value)) <= allowed
