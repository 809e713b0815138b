"""Policies as plans for JAX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import pytest

from gpumem.plugin import (
    Answer,
    Bound,
    Budget,
    Budgets,
    FrameworkSettings,
    FrameworkState,
    Limit,
    Moment,
    Origin,
    Plan,
    Rank,
    RemoveVariable,
    Resolved,
    RuntimeCall,
    SetVariable,
)
from gpumem.testing import PolicyCase, budgets_and_settings
from gpumem_jax.fraction import in_force
from gpumem_jax.translate import translate

GIB, MIB = 1 << 30, 1 << 20
FRACTION, NEWER = "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"
PREALLOCATE, ALLOCATOR = "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_ALLOCATOR"
UNIFIED = "TF_FORCE_UNIFIED_MEMORY"
NAMES = ("jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt")
Allocator = Literal["default", "pool", "async", "direct", "vmm", "managed"]
NATIVE = Origin(Rank.NATIVE, "environment of the user")


def state(version: str = "0.12.0.1", **details: object) -> FrameworkState:
    return FrameworkState(dict.fromkeys(NAMES, version), evidence="a test", details=details)


FROZEN = replace(state(frozen=True), imported=Answer.YES)
IMPORTED = replace(state(), imported=Answer.YES)
STARTED = replace(state(frozen=True, driver_runs=True), imported=Answer.YES, started=Answer.YES)


def plan(
    policy: Mapping[str, object],
    devices: str = "2x16GiB",
    of: FrameworkState | None = None,
    environ: Mapping[str, str] | None = None,
) -> Plan:
    case = PolicyCase("a test", policy, devices)
    settings, budgets, _missing = budgets_and_settings(case, "jax")
    return translate(settings, budgets, of or state(), environ or {})


def variables(made: Plan) -> dict[str, str | None]:
    actions = [step.action for step in made.steps if isinstance(step.action, SetVariable | RemoveVariable)]
    return {action.name: getattr(action, "value", None) for action in actions}


def calls(made: Plan) -> dict[str, Mapping[str, Any]]:
    return {s.action.name: s.action.arguments for s in made.steps if isinstance(s.action, RuntimeCall)}


def refused(made: Plan) -> dict[str, str]:
    return {item.field: item.reason for item in made.not_expressed}


def expected(made: Plan) -> dict[tuple[str, int | None], object]:
    return {(item.field, item.device): item.value for item in made.expectations}


def test_a_fraction_passes_unconverted_and_needs_no_call() -> None:
    made = plan({"fraction": 0.3})
    assert (variables(made), calls(made), expected(made)) == ({FRACTION: "0.3"}, {}, {("limit", None): 0.3})
    assert not made.steps[0].reasserted


@pytest.mark.parametrize(("cap", "text"), [("4GiB", "0.25"), (1234567891, "0.071777344"), ("100GiB", "1")])
def test_a_cap_becomes_a_fraction_of_the_total(cap: object, text: str) -> None:
    made = plan({"cap": cap})
    assert variables(made) == {FRACTION: text}
    assert made.steps[0].reasserted
    (call,) = calls(made).values()
    assert call["limits"]["0"]["bounds"] == call["limits"]["1"]["bounds"]
    assert made.steps[-1].moment is Moment.ON_START


def test_totals_of_the_driver_itself_are_not_calculated_again() -> None:
    made = plan({"cap": "4GiB"}, of=state(driver_runs=True))
    assert calls(made) == {}


def test_unequal_cards_get_the_smallest_share_and_the_report_says_so() -> None:
    made = plan({"cap": "4GiB"}, "8GiB,16GiB")
    assert variables(made) == {FRACTION: "0.25"}
    assert "2 GiB instead of 4 GiB on device 0" in made.steps[0].note
    assert expected(made) == {("limit", 0): 4 * GIB, ("limit", 1): 4 * GIB}


def test_a_limit_of_one_device_limits_the_others_too_and_the_report_says_so() -> None:
    made = plan({"devices": {0: {"cap": "4GiB"}}})
    assert variables(made) == {FRACTION: "0.25"}
    assert "4 GiB on device 1, which has no limit of its own" in made.steps[0].note
    assert expected(made) == {("limit", 0): 4 * GIB}


def test_only_visible_devices_decide_the_fraction() -> None:
    policy = {"frameworks": {"jax": {"visible": [1], "devices": {0: {"cap": "1GiB"}, 1: {"cap": "8GiB"}}}}}
    made = plan(policy)
    assert variables(made) == {FRACTION: "0.5"}
    assert calls(made)["update_config"] == {"name": "jax_cuda_visible_devices", "value": "1"}
    assert calls(made)["client_options"]["visible"] == [1]
    assert expected(made) == {("limit", 1): 8 * GIB, ("visible", None): (1,)}


def test_an_uncertain_card_gets_a_fraction_that_holds_on_each() -> None:
    """The total of the largest card counts, or a cap would be exceeded on it."""
    limit = Limit((Bound("cap", 0.0, 4 * GIB, "4GiB", Origin(Rank.ARGUMENTS, "test.py:1")),))
    budget = Budget(0, 8 * GIB, limit, largest_total=16 * GIB)
    budgets = Budgets(
        (budget, replace(budget, ordinal=1)), replace(budget, ordinal=None, total=None), True, "uncertain"
    )
    made = translate(FrameworkSettings("jax"), budgets, state(), {})
    assert variables(made) == {FRACTION: "0.25"}
    assert made.notes
    assert "2 GiB instead of 4 GiB on device 1, if that is the smaller card" in made.steps[0].note
    assert in_force(16 * GIB, 0.25) <= 4 * GIB


def test_unknown_totals_wait_for_jax() -> None:
    made = plan({"cap": "4GiB"}, "")
    assert variables(made) == {}
    assert calls(made)["client_options"]["limits"] == {"others": {"bounds": [[0.0, 4 * GIB]], "most": 4 * GIB}}
    assert calls(made)["client_options"]["limit_in_bytes"]
    assert expected(made) == {("limit", None): 4 * GIB}


def test_unknown_totals_cannot_wait_any_more_once_the_options_are_frozen() -> None:
    made = plan({"cap": "4GiB"}, "", of=FROZEN)
    assert (made.steps, set(refused(made))) == ((), {"limit"})


def test_less_than_a_unit_of_the_driver_is_refused() -> None:
    assert "less than 2 MiB" in refused(plan({"cap": 1 << 20}))["limit"]


@pytest.mark.parametrize(
    ("environ", "result"),
    [
        ({}, {FRACTION: "0.25"}),
        ({FRACTION: ".9"}, {FRACTION: "0.25"}),
        ({NEWER: ".9"}, {NEWER: "0.25"}),
        ({NEWER: ".9", FRACTION: ".9"}, {NEWER: "0.25", FRACTION: None}),
        ({NEWER: "", FRACTION: ".9"}, {FRACTION: "0.25"}),
    ],
)
def test_exactly_one_name_of_the_fraction_is_left(environ: dict[str, str], result: dict[str, str | None]) -> None:
    made = variables(plan({"fraction": 0.25}, environ=environ))
    assert made == result
    after = {name: value for name, value in {**environ, **made}.items() if value}
    assert len(after) == 1


def native_budgets(share: float) -> Budgets:
    budget = Budget(0, 16 * GIB, Limit((Bound("fraction", share, 0, f"{share:g}", NATIVE),)))
    return Budgets((budget,), replace(budget, ordinal=None, total=None), complete=True)


def test_the_users_own_fraction_is_left_as_it_is_and_verified() -> None:
    made = translate(FrameworkSettings("jax"), native_budgets(0.25), state(), {NEWER: "00.250"})
    assert (variables(made), expected(made)) == ({NEWER: "00.250"}, {("limit", None): 0.25})


def test_the_users_own_fraction_divided_by_processes_is_written() -> None:
    made = translate(FrameworkSettings("jax"), native_budgets(0.25), state(), {FRACTION: "0.5"})
    assert variables(made) == {FRACTION: "0.25"}


def test_no_limit_by_a_stronger_source_removes_the_users() -> None:
    made = plan({"cap": "none"}, environ={FRACTION: ".5"})
    assert variables(made) == {FRACTION: None}
    assert variables(plan({"cap": "none"})) == {}


@pytest.mark.parametrize(("growth", "text"), [(True, "false"), (False, "true")])
def test_preallocation_is_true_or_false_exactly(growth: bool, text: str) -> None:
    made = plan({"cap": "4GiB", "growth": growth})
    assert variables(made)[PREALLOCATE] == text
    assert expected(made)[("preallocate", None)] is not growth


def test_a_size_ahead_is_growth_and_not_expressed() -> None:
    made = plan({"cap": "4GiB", "preallocate": "1GiB"})
    assert variables(made)[PREALLOCATE] == "false"
    assert "grows from nothing" in refused(made)["preallocate"]
    assert ("preallocate", None) not in expected(made)


def test_devices_that_differ_in_preallocation_grow() -> None:
    made = plan({"devices": {0: {"cap": "1GiB", "preallocate": True}, 1: {"growth": True}}})
    assert variables(made)[PREALLOCATE] == "false"
    assert [(item.field, item.device) for item in made.not_expressed] == [("preallocate", 0)]


@pytest.mark.parametrize(
    ("word", "result"),
    [
        ("pool", {ALLOCATOR: "bfc"}),
        ("async", {ALLOCATOR: "cuda_async", PREALLOCATE: "false"}),
        ("direct", {ALLOCATOR: "platform"}),
        ("vmm", {ALLOCATOR: "vmm"}),
        ("managed", {ALLOCATOR: "bfc", UNIFIED: "1"}),
        ("default", {}),
    ],
)
def test_allocators_without_a_limit(word: str, result: dict[str, str]) -> None:
    made = plan({"allocator": word})
    assert (variables(made), refused(made)) == (result, {})
    assert expected(made) == ({} if word == "default" else {("allocator", None): word})


@pytest.mark.parametrize("word", ["async", "direct", "managed"])
def test_a_limit_beats_an_allocator_that_does_not_hold_it(word: str) -> None:
    made = plan({"fraction": 0.25, "allocator": word})
    assert variables(made) == {FRACTION: "0.25"}
    assert set(refused(made)) == {"allocator"}


@pytest.mark.parametrize("word", ["pool", "vmm"])
def test_allocators_that_hold_a_limit_keep_it(word: str) -> None:
    made = plan({"fraction": 0.25, "allocator": word})
    assert set(variables(made)) == {FRACTION, ALLOCATOR}
    assert refused(made) == {}


def test_managed_memory_holds_more_than_the_device_has() -> None:
    made = plan({"fraction": 1.5, "allocator": "managed"})
    assert variables(made) == {FRACTION: "1.5", ALLOCATOR: "bfc", UNIFIED: "1"}
    made = plan({"cap": "24GiB", "allocator": "managed"})
    assert variables(made)[FRACTION] == "1.5"
    assert calls(made)["client_options"]["above_one"]


@pytest.mark.parametrize(("environ", "removed"), [({ALLOCATOR: "cuda_async"}, ALLOCATOR), ({UNIFIED: "1"}, UNIFIED)])
def test_the_users_own_allocator_gives_way_to_a_limit(environ: dict[str, str], removed: str) -> None:
    settings, budgets, _missing = budgets_and_settings(PolicyCase("a test", {"cap": "4GiB"}), "jax")
    theirs: Resolved[Allocator] = Resolved("async" if ALLOCATOR in environ else "managed", NATIVE)
    made = translate(replace(settings, allocator=theirs), budgets, state(), environ)
    assert variables(made) == {FRACTION: "0.25", removed: None}
    assert set(refused(made)) == {"allocator"}
    assert calls(made)["client_options"]["options"]["allocator"] == "default"


@pytest.mark.parametrize(
    ("word", "version"), [("vmm", "0.9.2"), ("direct", "0.10.1"), ("direct", "0.10.2"), ("vmm", "")]
)
def test_allocators_that_a_version_lacks_are_listed(word: str, version: str) -> None:
    made = plan({"allocator": word}, of=state(version))
    assert (made.steps, set(refused(made))) == ((), {"allocator"})


def test_taking_everything_ahead_does_not_go_with_vmm() -> None:
    made = plan({"cap": "4GiB", "preallocate": True, "allocator": "vmm"})
    assert set(refused(made)) == {"preallocate"}


@pytest.mark.parametrize(("present", "left"), [("", "cpu"), ("cuda,tpu", "tpu"), ("cuda", "cpu")])
def test_hiding_before_the_import_is_a_variable(present: str, left: str) -> None:
    made = plan({"frameworks": {"jax": "hidden"}, "cap": "1GiB"}, environ={"JAX_PLATFORMS": present})
    assert variables(made) == {"JAX_PLATFORMS": left}
    assert (expected(made), len(made.notes)) == ({("visible", None): "none"}, 1)


def test_hiding_after_the_import_is_a_configuration() -> None:
    made = plan({"frameworks": {"jax": "hidden"}}, of=IMPORTED)
    assert (variables(made), calls(made)) == ({}, {"update_config": {"name": "jax_platforms", "value": "cpu"}})


def test_everything_visible_takes_a_restriction_back() -> None:
    made = plan({"frameworks": {"jax": {"visible": "all"}}})
    assert calls(made) == {"update_config": {"name": "jax_cuda_visible_devices", "value": "all"}}
    assert expected(made) == {("visible", None): (0, 1)}


def test_frozen_options_are_changed_themselves() -> None:
    """The variables are written as well: child processes read them."""
    made = plan({"fraction": 0.25, "growth": True, "allocator": "vmm"}, of=FROZEN)
    assert variables(made) == {FRACTION: "0.25", PREALLOCATE: "false", ALLOCATOR: "vmm"}
    call = calls(made)["client_options"]
    assert call["options"] == {"memory_fraction": 0.25, "preallocate": False, "allocator": "vmm"}
    assert set(made.steps[-1].fields) == {"limit", "preallocate", "allocator"}
    assert made.steps[-1].moment is Moment.ON_IMPORT


def test_options_that_the_user_laid_over_the_variables_are_set_again() -> None:
    made = plan({"fraction": 0.25}, environ={"JAX_PJRT_CLIENT_CREATE_OPTIONS": "allocator:cuda_async"})
    assert calls(made)["client_options"]["options"] == {"memory_fraction": 0.25, "allocator": "default"}
    made = plan({"fraction": 0.25}, of=state(overlay=["memory_fraction"]))
    assert calls(made)["client_options"]["options"]["memory_fraction"] == 0.25


def test_after_the_start_the_plan_expects_what_it_would_have_come_to() -> None:
    """So that an equal policy is not called late, although one fraction gives a card less than its cap."""
    made = plan({"cap": "4GiB"}, "8GiB,16GiB", of=STARTED)
    assert calls(made) == {}
    assert expected(made) == {("limit", 0): 2 * GIB, ("limit", 1): 4 * GIB}


@pytest.mark.parametrize(
    ("name", "value", "text", "seen"),
    [
        ("collective_mem_size_mb", 64, "64", 64),
        ("abort_collectives_on_failure", True, "1", True),
        ("use_tfrt_gpu_client", "false", "0", False),
        ("host_memory_limit_gb", "8", "8", None),
        ("host_memory_preallocate", 1, "1", None),
    ],
)
def test_options_are_passed_through(name: str, value: object, text: str, seen: object) -> None:
    made = plan({"frameworks": {"jax": {"options": {name: value}}}})
    assert list(variables(made).values()) == [text]
    assert expected(made).get((f"options.{name}", None)) == seen


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("memory_fraction", 0.5, "cap or fraction"),
        ("no_such_option", 1, "no such option"),
        ("collective_mem_size_mb", "much", "whole number"),
        ("collective_mem_size_mb", True, "whole number"),
        ("use_tfrt_gpu_client", "perhaps", "true or false"),
    ],
)
def test_options_that_are_wrong_are_listed(name: str, value: object, reason: str) -> None:
    made = plan({"frameworks": {"jax": {"options": {name: value}}}})
    assert reason in refused(made)[f"options.{name}"]
    assert made.steps == ()


def test_options_that_a_version_lacks_are_listed() -> None:
    made = plan({"frameworks": {"jax": {"options": {"use_tfrt_gpu_client": True}}}}, of=state("0.4.35"))
    assert "0.7.1" in refused(made)["options.use_tfrt_gpu_client"]
