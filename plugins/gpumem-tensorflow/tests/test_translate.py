"""From a policy to a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gpumem.plugin import (
    Bound,
    Budget,
    Budgets,
    Comparison,
    Deadline,
    Expectation,
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
from gpumem.testing import PolicyCase, budgets_and_settings
from gpumem_tensorflow.translate import make_plan

ORIGIN = Origin(Rank.ARGUMENTS, "train.py:3")
FILE = Origin(Rank.PROJECT_FILE, "pyproject.toml")
NATIVE = Origin(Rank.NATIVE, "environment TF_FORCE_GPU_ALLOW_GROWTH")
STATE = FrameworkState(versions={"tensorflow": "2.21.0"})
GIB = 1 << 30
GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"


def plan(devices: str = "2x16GiB", environ: Mapping[str, str] | None = None, **policy: object) -> Plan:
    settings, budgets, missing = budgets_and_settings(PolicyCase("", policy, devices), "tensorflow")
    assert not missing
    return make_plan(settings, budgets, STATE, environ or {})


def calls(made: Plan, name: str) -> list[dict[str, Any]]:
    return [dict(s.action.arguments) for s in made.steps if isinstance(s.action, RuntimeCall) and s.action.name == name]


def variables(made: Plan) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for step in made.steps:
        if isinstance(step.action, SetVariable):
            found[step.action.name] = step.action.value
        elif isinstance(step.action, RemoveVariable):
            found[step.action.name] = None
    return found


def limits(made: Plan) -> dict[int | None, object]:
    return {e.device: e.value for e in made.expectations if e.field == "limit"}


def refusals(made: Plan) -> dict[tuple[str, int | None], str]:
    return {(item.field, item.device): item.reason for item in made.not_expressed}


def test_a_cap_with_growth_is_a_variable_and_a_limit_per_gpu() -> None:
    made = plan(cap="4GiB", growth=True)
    assert variables(made) == {GROWTH: "true"}
    assert [(call["device"], call["bytes"], call["strict"]) for call in calls(made, "limit")] == [
        (0, 4 * GIB, True),
        (1, 4 * GIB, True),
    ]
    assert calls(made, "variables") == [{"variables": {GROWTH: "true"}}]
    assert limits(made) == {0: 4 * GIB, 1: 4 * GIB}
    assert Expectation("preallocate", None, value=False) in made.expectations
    assert {step.deadline for step in made.steps} == {Deadline.START}
    assert {step.moment for step in made.steps} == {Moment.NOW, Moment.ON_START}


def test_a_cap_taken_ahead_says_false_since_keras_may_say_true() -> None:
    made = plan(cap="4GiB", preallocate=True)
    assert variables(made) == {GROWTH: "false"}
    assert calls(made, "variables") == [{"variables": {GROWTH: "false"}}]
    assert all(step.reasserted for step in made.steps if isinstance(step.action, SetVariable))


def test_a_limit_is_rounded_down_to_whole_mb_and_said() -> None:
    made = plan(cap=1234567891)
    assert limits(made) == {0: 1177 << 20, 1: 1177 << 20}
    assert "1177 MB" in made.steps[0].note


def test_a_limit_below_1_mb_is_refused_since_0_would_break_the_gpu() -> None:
    budget = Budget(0, 16 * GIB, Limit((Bound("cap", 0.0, 1000, "1000", ORIGIN),)))
    made = make_plan(FrameworkSettings("tensorflow"), Budgets((budget,), Budget(None), complete=True), STATE, {})
    assert "whole MB" in refusals(made)["limit", 0]
    assert not calls(made, "limit")


@pytest.mark.parametrize(
    ("devices", "expected"),
    [("8GiB,16GiB", {0: 2 * GIB, 1: 4 * GIB}), ("", {None: 0.25})],
    ids=["known totals", "unknown totals"],
)
def test_a_fraction_is_in_bytes_where_totals_are_known_and_waits_for_cudas_else(
    devices: str, expected: dict[int | None, object]
) -> None:
    made = plan(devices, fraction=0.25)
    assert limits(made) == expected
    assert calls(made, "limit")[0]["bounds"] == [[0.25, 0]]
    assert {e.comparison for e in made.expectations} == {Comparison.LIMIT}


def test_a_fraction_of_ambiguous_cards_is_compared_as_a_share() -> None:
    limit = Limit((Bound("fraction", 0.5, 0, "0.5", ORIGIN),))
    devices = (Budget(0, 8 * GIB, limit), Budget(1, 8 * GIB, limit))
    budgets = Budgets(devices, Budget(None), complete=True, ambiguous="which card is which is uncertain")
    made = make_plan(FrameworkSettings("tensorflow"), budgets, STATE, {})
    assert limits(made) == {0: 0.5, 1: 0.5}
    assert any("uncertain" in note for note in made.notes)


def test_a_cap_beside_a_fraction_of_an_unknown_total_is_still_expected() -> None:
    made = plan("", fraction=0.5, cap="4GiB")
    assert limits(made) == {None: 4 * GIB}
    assert calls(made, "limit")[0]["bytes"] is None


def test_gpus_may_have_different_caps_and_others_are_told_apart() -> None:
    assert calls(plan("", cap="4GiB"), "limit")[0]["besides"] == []
    settings, budgets, _ = budgets_and_settings(
        PolicyCase("", {"cap": "4GiB", "devices": {1: {"cap": "2GiB"}}}, ""), "tensorflow"
    )
    made = make_plan(settings, budgets, STATE, {})
    assert limits(made) == {1: 2 * GIB, None: 4 * GIB}
    assert [(call["device"], call["besides"]) for call in calls(made, "limit")] == [(1, [1]), (None, [1])]


@pytest.mark.parametrize("word", ["async", "direct"])
def test_a_limit_beats_an_allocator_that_holds_none(word: str) -> None:
    own = {"TF_GPU_ALLOCATOR": "cuda_malloc_async"}
    made = plan(environ=own, cap="4GiB", allocator=word)
    assert variables(made) == {"TF_GPU_ALLOCATOR": None}
    assert "holds no limit" in refusals(made)["allocator", None]
    assert limits(made) == {0: 4 * GIB, 1: 4 * GIB}
    assert variables(plan(cap="4GiB", allocator=word)) == {}


@pytest.mark.parametrize(
    ("word", "environ", "expected"),
    [
        ("async", {}, {"TF_GPU_ALLOCATOR": "cuda_malloc_async"}),
        ("direct", {}, {"TF_GPU_ALLOCATOR": "cuda_malloc"}),
        ("pool", {"TF_GPU_ALLOCATOR": "cuda_malloc"}, {"TF_GPU_ALLOCATOR": None}),
        ("pool", {"TF_GPU_ALLOCATOR": "memory_guard"}, {"TF_GPU_ALLOCATOR": "memory_guard"}),
        ("managed", {"TF_GPU_ALLOCATOR": "cuda_malloc"}, {"TF_GPU_ALLOCATOR": None}),
        ("managed", {}, {}),
    ],
)
def test_an_allocator_word_is_tensorflows_own_setting(
    word: str, environ: dict[str, str], expected: dict[str, str | None]
) -> None:
    made = plan(environ=environ, allocator=word)
    assert variables(made) == expected
    assert Expectation("allocator", None, word) in made.expectations
    assert bool(calls(made, "managed")) == (word == "managed")


def test_managed_memory_may_have_more_than_the_device() -> None:
    made = plan(fraction=1.5, allocator="managed")
    assert limits(made) == {0: 24 * GIB, 1: 24 * GIB}


def test_default_asks_for_nothing() -> None:
    assert plan(allocator="default").steps == ()


def test_vmm_is_refused() -> None:
    assert "no allocator for vmm" in refusals(plan(allocator="vmm"))["allocator", None]


def test_a_size_taken_ahead_becomes_growth_for_the_limit_and_is_refused() -> None:
    made = plan(cap="4GiB", preallocate="1GiB")
    assert variables(made) == {GROWTH: "true"}
    assert set(refusals(made)) == {("preallocate", 0), ("preallocate", 1)}
    assert made.steps[0].fields == ("limit",)


def test_a_size_that_is_the_whole_limit_is_taken_ahead() -> None:
    made = plan(cap="4GiB", preallocate="4GiB")
    assert variables(made) == {GROWTH: "false"}
    assert not made.not_expressed


def test_a_size_without_a_limit_is_refused_with_what_to_write() -> None:
    made = plan(preallocate="1GiB")
    assert not made.steps
    assert "ask for growth, or add a limit" in refusals(made)["preallocate", 0]


def test_the_async_allocator_takes_a_size_ahead() -> None:
    made = plan(allocator="async", preallocate="1GiB")
    assert variables(made) == {
        "TF_GPU_ALLOCATOR": "cuda_malloc_async",
        "TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC": str(GIB),
    }
    assert not made.not_expressed


def test_growth_has_one_value_for_all_gpus_and_growing_wins() -> None:
    policy = {"cap": "4GiB", "devices": {0: {"growth": True}, 1: {"preallocate": True}}}
    settings, budgets, _ = budgets_and_settings(PolicyCase("", policy), "tensorflow")
    made = make_plan(settings, budgets, STATE, {})
    assert variables(made) == {GROWTH: "true"}
    assert "another GPU is asked to grow" in refusals(made)["preallocate", 1]
    assert ("preallocate", 0) not in refusals(made)


def test_the_users_own_variable_is_left_alone_and_still_verified() -> None:
    budget = Budget(
        0, 16 * GIB, Limit((Bound("cap", 0.0, GIB, "1GiB", FILE),)), preallocate=Preallocation(True, NATIVE)
    )
    budgets = Budgets((budget,), Budget(None), complete=True)
    made = make_plan(FrameworkSettings("tensorflow"), budgets, STATE, {GROWTH: "false"})
    assert variables(made) == {GROWTH: "false"}
    assert calls(made, "variables") == [{"variables": {}}]
    assert not made.steps[0].reasserted
    assert Expectation("preallocate", None, value=True) in made.expectations


def test_hidden_leaves_no_limit_and_says_so() -> None:
    settings, budgets, _ = budgets_and_settings(
        PolicyCase("", {"cap": "4GiB", "growth": True, "frameworks": {"*": "hidden"}}), "tensorflow"
    )
    made = make_plan(settings, budgets, STATE, {})
    assert calls(made, "visible") == [{"ordinals": [], "strict": True}]
    assert [step.fields for step in made.steps] == [("visible",)]
    assert made.notes == ("TensorFlow is to see no GPU: its limit and its growth are without meaning",)


@pytest.mark.parametrize(
    ("visible", "devices", "ordinals", "expected"),
    [
        ([1], "2x16GiB", [1], (1,)),
        ([1, 0], "2x16GiB", [0, 1], (0, 1)),
        ("all", "2x16GiB", [0, 1], (0, 1)),
        ("all", "", "all", "all"),
    ],
)
def test_visible_names_the_gpus(visible: object, devices: str, ordinals: object, expected: object) -> None:
    policy = {"frameworks": {"*": {"visible": visible}}}
    settings, budgets, _ = budgets_and_settings(PolicyCase("", policy, devices), "tensorflow")
    made = make_plan(settings, budgets, STATE, {})
    assert calls(made, "visible") == [{"ordinals": ordinals, "strict": True}]
    assert made.expectations == (Expectation("visible", None, expected),)


def test_a_gpu_that_does_not_exist_is_refused_and_the_others_are_shown() -> None:
    policy = {"frameworks": {"*": {"visible": [0, 5]}}}
    settings, budgets, _ = budgets_and_settings(PolicyCase("", policy), "tensorflow")
    made = make_plan(settings, budgets, STATE, {})
    assert refusals(made) == {("visible", 5): "this process sees no GPU 5"}
    assert calls(made, "visible")[0]["ordinals"] == [0]


def test_an_option_becomes_its_variable_unless_the_users_own_is_stronger() -> None:
    name = "TF_GPU_HOST_MEM_LIMIT_IN_MB"
    budgets = Budgets((), Budget(None), complete=False)

    def made(origin: Origin) -> Plan:
        settings = FrameworkSettings("tensorflow", options={name: Resolved(4096, origin)})
        return make_plan(settings, budgets, STATE, {name: "1024"})

    assert variables(made(ORIGIN)) == {name: "4096"}
    assert variables(made(FILE)) == {}
    assert f"{name}=1024" in refusals(made(FILE))[f"options.{name}", None]


def test_a_reserve_beside_a_limit_is_refused_since_it_has_no_effect() -> None:
    policy = {"cap": "4GiB", "frameworks": {"*": {"options": {"TF_DEVICE_MIN_SYS_MEMORY_IN_MB": 4096}}}}
    settings, budgets, _ = budgets_and_settings(PolicyCase("", policy), "tensorflow")
    made = make_plan(settings, budgets, STATE, {})
    assert "options.TF_DEVICE_MIN_SYS_MEMORY_IN_MB" in {item.field for item in made.not_expressed}


def test_an_unknown_version_is_said() -> None:
    settings, budgets, _ = budgets_and_settings(PolicyCase("", {"cap": "4GiB"}), "tensorflow")
    assert "version is unknown" in make_plan(settings, budgets, FrameworkState(), {}).notes[0]
