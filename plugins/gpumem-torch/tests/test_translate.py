"""Policies become steps, expectations and reasons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpumem.plugin import (
    Answer,
    Budgets,
    Deadline,
    FrameworkSettings,
    FrameworkState,
    Limit,
    Origin,
    Plan,
    Rank,
    Resolved,
    RuntimeCall,
    SetVariable,
)
from gpumem.testing import PolicyCase, budgets_and_settings
from gpumem_torch.situation import local_rank
from gpumem_torch.translate import translate

CUDA, NEW, OFF = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING"
GIB = 1 << 30
FRESH = FrameworkState({"torch": "2.14.1"})


def imported(started: Answer = Answer.NO, version: str = "2.14.1", **details: object) -> FrameworkState:
    return FrameworkState(
        {"torch": version},
        Answer.YES,
        started,
        "as told",
        details={"backend": "native", "configuration": None, **details},
    )


def plan(
    state: FrameworkState = FRESH, environ: dict[str, str] | None = None, machine: str = "2x16GiB", **policy: Any
) -> Plan:
    settings, budgets, _missing = budgets_and_settings(PolicyCase("", policy, machine), "torch")
    return translate(settings, budgets, state, environ or {})


def variables(made: Plan) -> dict[str, str]:
    return {step.action.name: step.action.value for step in made.steps if isinstance(step.action, SetVariable)}


def calls(made: Plan, name: str) -> list[dict[str, Any]]:
    found = [step.action for step in made.steps if isinstance(step.action, RuntimeCall)]
    return [dict(action.arguments) for action in found if action.name == name]


def expected(made: Plan, field: str) -> dict[int | None, object]:
    return {item.device: item.value for item in made.expectations if item.field == field}


def test_a_cap_writes_no_variable_and_is_never_too_late() -> None:
    """Another PyTorch in a child process may not know a key; the queue works everywhere."""
    made = plan(cap="4GiB")
    assert variables(made) == {}
    assert {step.deadline for step in made.steps} == {Deadline.NEVER}
    assert [call["bounds"] for call in calls(made, "limit_memory")] == [[[0.0, 4 * GIB]]] * 2
    assert expected(made, "limit") == {0: 4 * GIB, 1: 4 * GIB}


def test_a_cap_needs_no_device_to_be_known() -> None:
    """One call for all devices, verified in bytes."""
    made = plan(machine="", cap="4GiB")
    assert [(call["device"], call["except"]) for call in calls(made, "limit_memory")] == [(None, [])]
    assert expected(made, "limit") == {None: 4 * GIB}


def test_a_fraction_of_unknown_devices_is_verified_as_a_fraction() -> None:
    """PyTorch takes it unconverted and gives it back."""
    made = plan(machine="", fraction=0.25)
    assert expected(made, "limit") == {None: 0.25}
    assert made.expectations[0].unit == "fraction"
    assert calls(made, "limit_memory")[0]["in_shares"] is True


def test_devices_of_their_own_are_left_out_of_the_call_for_the_others() -> None:
    """Device 1 has 2 GiB, all others 4."""
    made = plan(machine="", cap="4GiB", devices={1: {"cap": "2GiB"}})
    assert [(call["device"], call["except"]) for call in calls(made, "limit_memory")] == [(1, []), (None, [1])]


@pytest.mark.parametrize(
    ("word", "text"),
    [("async", "backend:cudaMallocAsync"), ("vmm", "expandable_segments:True")],
)
def test_an_allocator_is_the_same_string_under_both_names(word: str, text: str) -> None:
    """Up to 2.9 only the first counts, from 2.10 on it wins over the second."""
    assert variables(plan(allocator=word)) == {CUDA: text, NEW: text}


def test_the_backend_must_be_there_before_the_import_and_the_rest_before_the_start() -> None:
    """`deadline` says what PyTorch reads when."""
    assert {step.deadline for step in plan(allocator="async").steps} == {Deadline.IMPORT}
    assert {step.deadline for step in plan(allocator="vmm").steps} == {Deadline.START}


def test_the_users_keys_stay_in_their_order() -> None:
    """Only the key that the policy needs is changed or added."""
    environ = {NEW: "pinned_num_register_threads:8,expandable_segments:False,max_split_size_mb:64"}
    text = "pinned_num_register_threads:8,expandable_segments:True,max_split_size_mb:64"
    assert variables(plan(environ=environ, allocator="vmm")) == {CUDA: text, NEW: text}


def test_pool_needs_no_variable_unless_the_user_has_another_allocator() -> None:
    """It is PyTorch's own default."""
    assert variables(plan(allocator="pool")) == {}
    assert plan(allocator="pool").steps
    assert variables(plan(environ={CUDA: "backend:cudaMallocAsync"}, allocator="pool"))[CUDA] == "backend:native"
    assert (
        variables(plan(environ={CUDA: "expandable_segments:True"}, allocator="pool"))[NEW]
        == "expandable_segments:False"
    )


def test_a_backend_that_comes_after_the_import_is_late_and_the_only_thing_late() -> None:
    """The core refuses late steps, so the string is never written: it would break this process and its children."""
    made = plan(imported(), allocator="async", cap="4GiB")
    late = [step for step in made.steps if step.deadline is Deadline.IMPORT]
    assert [step.fields for step in late] == [("allocator",)]
    assert len(made.steps) == 3


def test_after_the_import_keys_go_through_pytorchs_own_setter_with_the_whole_string() -> None:
    """Each call of the setter resets what it does not name."""
    made = plan(
        imported(), {CUDA: "max_split_size_mb:64"}, frameworks={"torch": {"options": {"expandable_segments": True}}}
    )
    assert variables(made) == {}
    assert calls(made, "configure_allocator") == [{"text": "max_split_size_mb:64,expandable_segments:True"}]


def test_a_started_pytorch_still_takes_what_it_reads_each_time() -> None:
    """Dynamic keys are never too late; the others are late by themselves."""
    options = {"max_split_size_mb": 128, "pinned_use_background_threads": True}
    made = plan(imported(Answer.YES, configuration=""), frameworks={"torch": {"options": options}})
    assert {step.fields: step.deadline for step in made.steps} == {
        ("options.max_split_size_mb",): Deadline.NEVER,
        ("options.pinned_use_background_threads",): Deadline.START,
    }


def test_a_limit_beats_an_allocator_that_cannot_hold_it() -> None:
    """No caching means no limit: the limit stays, the word is listed with the reason."""
    made = plan(cap="4GiB", allocator="direct")
    assert [item.field for item in made.not_expressed] == ["allocator"]
    assert variables(made) == {}
    assert len(calls(made, "limit_memory")) == 2
    assert variables(plan(allocator="direct")) == {OFF: "1"}


def test_a_limit_removes_a_switch_under_which_it_would_not_hold() -> None:
    """PYTORCH_NO_CUDA_MEMORY_CACHING=1 in the environment would let 16 GiB through a cap of 4."""
    made = plan(environ={OFF: "1"}, cap="4GiB")
    step = made.steps[0]
    assert (str(step.action), step.fields, step.deadline) == (f"unset {OFF}", ("limit",), Deadline.START)


def test_what_the_user_set_in_pytorch_itself_is_left_and_verified() -> None:
    """Rank NATIVE: no step touches it, the expectation stands."""
    origin = Origin(Rank.NATIVE, f"environment {CUDA}")
    settings = FrameworkSettings("torch", allocator=Resolved("vmm", origin))
    _settings, budgets, _missing = budgets_and_settings(PolicyCase("", {}, "1x16GiB"), "torch")
    made = translate(settings, budgets, FRESH, {CUDA: "expandable_segments:True"})
    assert made.steps == ()
    assert expected(made, "allocator") == {None: "vmm"}


@pytest.mark.parametrize(
    ("name", "value", "version", "words"),
    [
        ("max_split_size_md", 64, "2.14.1", "did you mean max_split_size_mb?"),
        ("per_process_memory_fraction", 0.5, "2.14.1", "write fraction or cap"),
        ("throw_on_cudamalloc_oom", True, "2.11.0", "it came with 2.12"),
        ("max_split_size_mb", "64MB", "2.14.1", "accepted: a whole number of MiB"),
        ("max_split_size_mb", 20, "2.9.1", "at least 21 before PyTorch 2.10"),
        ("garbage_collection_threshold", 1.5, "2.14.1", "accepted: a number between 0 and 1"),
        ("expandable_segments", "yes", "2.14.1", "accepted: True or False"),
    ],
)
def test_an_option_that_pytorch_would_not_take_is_left_out_with_the_reason(
    name: str, value: object, version: str, words: str
) -> None:
    """It would cost the process its GPU."""
    made = plan(FrameworkState({"torch": version}), frameworks={"torch": {"options": {name: value}}})
    assert made.steps == ()
    assert words in made.not_expressed[0].reason


def test_an_option_and_an_allocator_word_must_not_contradict_each_other() -> None:
    """The word wins, because the table of words says what holds a cap."""
    made = plan(allocator="async", frameworks={"torch": {"options": {"backend": "native"}}})
    assert [item.field for item in made.not_expressed] == ["options.backend"]
    assert variables(made)[CUDA] == "backend:cudaMallocAsync"


def test_a_stronger_string_of_the_user_decides_an_option_of_a_file() -> None:
    """Rank 4 beats rank 5: the string stays, and its value is expected."""
    settings = FrameworkSettings(
        "torch", options={"max_split_size_mb": Resolved(128, Origin(Rank.PROJECT_FILE, "pyproject.toml"))}
    )
    _settings, budgets, _missing = budgets_and_settings(PolicyCase("", {}, "1x16GiB"), "torch")
    made = translate(settings, budgets, FRESH, {CUDA: "max_split_size_mb:64"})
    assert variables(made) == {}
    assert expected(made, "options.max_split_size_mb") == {None: 64}


def test_a_string_that_pytorch_cannot_read_is_not_extended() -> None:
    """The reason names the token and its place."""
    made = plan(environ={CUDA: "foo"}, allocator="vmm")
    assert made.steps == ()
    assert "'foo' at character 0" in made.not_expressed[0].reason


@pytest.mark.parametrize(
    ("machine", "environ", "policy", "where"),
    [
        ("1x16GiB", {}, {"preallocate": True}, [0]),
        ("2x16GiB", {}, {"preallocate": True}, []),
        ("2x16GiB", {"LOCAL_RANK": "1"}, {"preallocate": True}, [1]),
        ("2x16GiB", {"LOCAL_RANK": "3"}, {"preallocate": "1GiB"}, [1]),
        ("2x16GiB", {}, {"devices": {1: {"preallocate": "1GiB"}}}, [1]),
        ("", {}, {"preallocate": True}, [None]),
    ],
)
def test_memory_is_taken_ahead_where_the_device_is_certain(
    machine: str, environ: dict[str, str], policy: dict[str, Any], where: list[int | None]
) -> None:
    """The only device, one the policy names, or the launcher's local one; elsewhere it is listed with the reason."""
    made = plan(FRESH, environ, machine, cap="4GiB", **policy)
    assert [call["device"] for call in calls(made, "take_ahead")] == where
    assert bool(made.not_expressed) == (not where)


def test_growth_is_pytorchs_own_way() -> None:
    """Nothing is set for it."""
    made = plan(cap="4GiB", growth=True)
    assert len(calls(made, "leave_as_is")) == 1
    assert expected(made, "preallocate") == {None: False}


def test_max_split_size_and_a_block_taken_ahead_exclude_each_other() -> None:
    """PyTorch would not cut smaller tensors out of the block."""
    made = plan(machine="1x16GiB", environ={CUDA: "max_split_size_mb:512"}, cap="4GiB", preallocate=True)
    assert [item.field for item in made.not_expressed] == ["preallocate"]


def test_hiding_is_not_expressed_unless_the_environment_hides_already() -> None:
    """The advice says which variable to set, and the limits are kept."""
    made = plan(frameworks={"torch": "hidden"}, cap="4GiB")
    assert "CUDA_VISIBLE_DEVICES=''" in made.not_expressed[0].reason
    assert calls(made, "limit_memory")
    assert plan(environ={"CUDA_VISIBLE_DEVICES": ""}, frameworks={"torch": "hidden"}).not_expressed == ()


def test_no_limit_lifts_only_what_the_user_set_elsewhere() -> None:
    """The fraction of the user's string gives way to an explicit "none"."""
    assert plan(cap="none").steps == ()
    made = plan(environ={CUDA: "per_process_memory_fraction:0.25"}, cap="none")
    assert [call["bounds"] for call in calls(made, "limit_memory")] == [[], []]


def test_releases_that_make_contexts_are_told_of() -> None:
    """Before 2.10 each device whose limit is set gets a CUDA context."""
    assert any("makes a CUDA context" in note for note in plan(FrameworkState({"torch": "2.9.1"}), cap="4GiB").notes)
    assert not any("makes a CUDA context" in note for note in plan(cap="4GiB").notes)


def test_an_allocator_that_is_not_pytorchs_own_cannot_be_limited() -> None:
    """RMM installed with change_current_allocator holds no fraction; PyTorch would not even complain."""
    made = plan(imported(backend="pluggable"), cap="4GiB", preallocate=True, allocator="pool")
    assert {item.field for item in made.not_expressed} == {"limit", "preallocate", "allocator"}
    assert made.steps == ()


def test_a_single_slurm_task_says_nothing_about_devices() -> None:
    """SLURM_LOCALID=0 is set there as well."""
    assert local_rank({"SLURM_LOCALID": "0", "SLURM_NTASKS": "1"}) is None
    assert local_rank({"SLURM_LOCALID": "1", "SLURM_NTASKS": "4"}) == 1
    assert local_rank({"LOCAL_RANK": "x"}) is None


def test_a_process_in_which_pytorch_has_no_gpu_is_left_as_it_is() -> None:
    """A build for the CPU, or a fork after the start: nothing is written and nothing is late."""
    state = FrameworkState({"torch": "2.14.1"}, Answer.YES, applicable=False, why_not="built for the CPU")
    made = plan(state, cap="4GiB", allocator="async")
    assert {str(step.action) for step in made.steps} == {"(nothing: PyTorch has no GPU in this process)"}
    assert {step.deadline for step in made.steps} == {Deadline.NEVER}


@pytest.mark.parametrize(("machine", "unit"), [("1x16GiB", "bytes"), ("", "fraction")])
def test_a_limit_of_the_user_is_read_back_in_the_unit_that_is_expected(machine: str, unit: str) -> None:
    """A call that changes nothing tells the read-back to give a fraction where no total is known."""
    _settings, known, _missing = budgets_and_settings(PolicyCase("", {"fraction": 0.25}, machine), "torch")
    origin = Origin(Rank.NATIVE, "environment PYTORCH_CUDA_ALLOC_CONF")
    budget = known.every()[0]
    assert budget.limit is not None
    native = replace(budget, limit=Limit(tuple(replace(bound, origin=origin) for bound in budget.limit.bounds)))
    budgets = Budgets((native,), native, complete=True) if machine else Budgets((), native, complete=False)
    made = translate(FrameworkSettings("torch"), budgets, FRESH, {})
    assert [item.unit for item in made.expectations] == [unit]
    assert [dict(step.action.arguments) for step in made.steps if isinstance(step.action, RuntimeCall)] == (
        [{"in_shares": [None]}] if unit == "fraction" else []
    )
