"""Observed values against expected ones, and the report as text and data."""

import json

import pytest

from gpumem import Report, Row, VerificationError
from gpumem_core.make_plans import already_so, compare
from gpumem_core.model.framework import Observation
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.plan import (
    Comparison,
    Deadline,
    Expectation,
    Moment,
    Plan,
    RuntimeCall,
    Scope,
    SetVariable,
    Step,
    Strength,
)
from gpumem_core.sizes import GIB

ORIGIN = Origin(Rank.ARGUMENTS, "train.py:3")


def row(**values):
    given = {"framework": "numbat", "device": None, "field": "cap", "asked": "8GiB", "set": "NUMBAT_LIMIT=1"}
    return Row(**{**given, "in_force": None, "state": "planned", "origin": "train.py:3", **values})


@pytest.mark.parametrize(
    ("expected", "seen", "comparison", "tolerance", "holds"),
    [
        (100, 100, Comparison.LIMIT, 0, True),
        (100, 50, Comparison.LIMIT, 0, True),
        (100, 101, Comparison.LIMIT, 0, False),
        (100, 101, Comparison.LIMIT, 0.02, True),
        (100, 0, Comparison.LIMIT, 0, False),
        (100, -1, Comparison.LIMIT, 0, False),
        (0.5, float("nan"), Comparison.LIMIT, 0, False),
        (0.5, float("inf"), Comparison.LIMIT, 0, False),
        (0.5, 0.5000001, Comparison.EQUAL, 1e-6, True),
        (0.5, 0.51, Comparison.EQUAL, 1e-6, False),
        (True, 1, Comparison.EQUAL, 0, True),
        (True, False, Comparison.EQUAL, 0, False),
        ("pool", "pool", Comparison.EQUAL, 0, True),
        ("pool", "async", Comparison.EQUAL, 0, False),
        (100, "100", Comparison.LIMIT, 0, False),
        (100, True, Comparison.LIMIT, 0, False),
    ],
)
def test_a_limit_holds_above_nothing_and_not_above_what_was_expected(expected, seen, comparison, tolerance, holds):
    expectation = Expectation("limit", None, expected, comparison, "", tolerance)
    assert compare(expectation, Observation("limit", None, seen, "x")) is holds


def step(action, device=None, fields=("limit",)):
    return Step(
        action=action,
        fields=fields,
        because=ORIGIN,
        moment=Moment.NOW,
        deadline=Deadline.START,
        scope=Scope.PROCESS,
        strength=Strength.HARD,
        device=device,
    )


EVERYWHERE = step(SetVariable("X", "8"))
ON_ONE = step(RuntimeCall("limit"), device=1)
PLAN = Plan(
    "numbat",
    (EVERYWHERE, ON_ONE),
    (Expectation("limit", None, 8, Comparison.LIMIT), Expectation("limit", 1, 4, Comparison.LIMIT)),
)


def seen(everywhere, on_one):
    return [Observation("limit", None, everywhere, "x"), Observation("limit", 1, on_one, "x")]


@pytest.mark.parametrize(
    ("everywhere", "on_one", "so", "so_on_one"),
    [(8, 4, True, True), (8, 9, True, False), (9, 4, False, True), (None, None, False, False), (7, 3, False, False)],
)
def test_already_so_is_judged_by_what_the_step_itself_decides(everywhere, on_one, so, so_on_one):
    observations = seen(everywhere, on_one)
    assert already_so(EVERYWHERE, PLAN, observations) is so
    assert already_so(ON_ONE, PLAN, observations) is so_on_one


def test_what_is_not_observed_is_never_already_so():
    assert not already_so(EVERYWHERE, PLAN, [])
    assert not already_so(step(SetVariable("X", "8"), fields=("limit", "allocator")), PLAN, seen(8, 4))


def test_a_step_for_one_device_decides_there_instead_of_the_one_for_all():
    assert PLAN.deciding("limit", None) == ((0, EVERYWHERE),)
    assert PLAN.deciding("limit", 0) == ((0, EVERYWHERE),)
    assert PLAN.deciding("limit", 1) == ((1, ON_ONE),)
    assert PLAN.deciding("allocator", None) == ()
    assert Plan("numbat", (ON_ONE,)).deciding("limit", None) == ((0, ON_ONE),)


@pytest.mark.parametrize(
    ("state", "ok"),
    [(s, True) for s in ("in_force", "pending", "not_expressed", "unknown", "not_applicable", "planned")]
    + [(s, False) for s in ("differs", "exceeded", "failed", "late")],
)
def test_a_report_is_ok_unless_something_is_known_to_be_otherwise(state, ok):
    report = Report(rows=(row(state=state),))
    assert report.ok is ok
    assert json.loads(report.to_json())["ok"] is ok
    assert str(report)


def test_a_row_reads_as_a_sentence():
    text = row(state="differs", in_force=9 * GIB, why="expected 8 GiB").sentence()
    assert text.startswith("numbat: cap asked 8GiB (train.py:3): differs")
    assert text.endswith("expected 8 GiB")
    assert "device 1" in row(device=1).sentence()
    assert "numbat" in str(VerificationError((row(state="failed"),)))


def test_the_text_gives_a_reason_once_and_leaves_out_what_would_do_nothing():
    absent = {"framework": "quokka", "state": "not_applicable", "why": "quokka is not installed here"}
    rows = [row(**absent, field="cap"), row(**absent, field="growth"), row(**absent, field="visible", set=None)]
    text = str(Report(rows=(*rows, row(state="in_force", in_force=8 * GIB))))
    assert text.count("is not installed here") == 1
    assert "visible" not in text
    assert "in force = 8 GiB" in text


def test_an_empty_report_says_that_nothing_is_declared():
    assert str(Report()) == "policy   none declared"
    assert Report().to_dict()["rows"] == []
