"""The verdict on a policy: only a refusal by the cap, with everything up to it granted, is proof."""

from __future__ import annotations

from typing import Any

import pytest

from gpumem_tools.prove.judge import judge
from gpumem_tools.trial.launch import Launched
from gpumem_tools.trial.record import Record, Taken

MIB, GIB = 1 << 20, 1 << 30


def row(field: str = "cap", asked: str = "1GiB", state: str = "in_force", **more: Any) -> dict[str, Any]:
    """Return a row of a report."""
    return {"field": field, "asked": asked, "state": state, "set": "LIMIT=1", "in_force": None, "why": "", **more}


GOOD: dict[str, Any] = {
    "limit": GIB,
    "told": (row(),),
    "rows": (row(),),
    "granted": (MIB, *[63 * MIB] * 16),
    "first_taken": 2 * MIB,
    "refused": 64 * MIB,
    "error": "FullError: no room",
    "out_of_memory": True,
    "held": 1010 * MIB,
    "free": 8 * GIB,
    "over": True,
}


def verdict(code: int | None = 0, stderr: str = "", **changes: Any) -> tuple[str, str]:
    """Return the verdict on a good trial with some changes."""
    taken = Taken("wallaby", 0, 7, **{**GOOD, **changes})
    found = judge("wallaby", "Wallaby", "1.0", Launched(code, stderr, Record((taken,))))
    return found.verdict, found.why


def test_a_cap_that_refuses_holds():
    """What was granted lies within the cap, and the next block was refused as out of memory."""
    assert verdict() == ("holds", "")


@pytest.mark.parametrize(
    ("changes", "expected", "said"),
    [
        ({"held": GIB + 1}, "does not hold", "1 bytes more than its limit"),
        ({"granted": (GIB, MIB)}, "does not hold", "more than its limit"),
        ({"rows": (row(state="differs", in_force=2 * GIB),)}, "does not hold", "in force 2 GiB"),
        ({"out_of_memory": False, "error": "ValueError: shape"}, "could not be tested", "ValueError: shape"),
        ({"over": False, "code": -11}, "could not be tested", "ended by signal 11"),
        (
            {"over": False, "code": 1, "stderr": "a\nImportError: b\n"},
            "could not be tested",
            "exit code 1: ImportError: b",
        ),
        ({"over": False, "code": None}, "could not be tested", "was stopped"),
        ({"refused": 0, "error": ""}, "could not be tested", "nothing was refused"),
        ({"granted": (MIB,), "held": MIB, "free": MIB}, "could not be tested", "the card itself was full"),
        ({"told": (row(state="not_expressed", why="it has none"),)}, "said so before", "it has none"),
        ({"told": (row("plugin", "", "failed", why="it broke"),)}, "could not be tested", "it broke"),
        ({"hidden": True, "granted": (), "limit": None}, "hidden", "no GPU"),
        ({"hidden": True, "granted": (MIB,)}, "does not hold", "all GPUs are hidden"),
        ({"limit": None, "told": (), "refused": 0, "error": ""}, "no cap asked", ""),
    ],
)
def test_everything_else_is_told_apart(changes, expected, said):
    """A crash, another error, a full card and a promise that was never made are no proof."""
    found, why = verdict(**changes)
    assert (found, said in why) == (expected, True), why


def test_memory_taken_ahead_under_growth_breaks_the_policy():
    """A first block of 1 MiB that takes half a GiB is no growth."""
    told = (row(), row("preallocate", "false"))
    assert verdict(told=told, first_taken=512 * MIB)[0] == "does not hold"
    assert verdict(told=told)[0] == "holds"


def test_a_policy_that_gpumem_refused_was_said_before():
    """Only UnsupportedPolicyError says that a cap cannot be held; another error tests nothing."""
    for kind, expected in (("UnsupportedPolicyError", "said so before"), ("PluginError", "could not be tested")):
        found = judge("wallaby", "Wallaby", "1.0", Launched(0, "", Record((), (kind, "text"))))
        assert found.verdict == expected
        assert found.bad


def test_a_program_that_never_began_could_not_be_tested():
    """An interpreter that dies at once is a finding, with what it said."""
    found = judge("wallaby", "Wallaby", "1.0", Launched(1, "no module\n", Record()))
    assert (found.verdict, "no module" in found.why) == ("could not be tested", True)


def test_what_else_cannot_be_expressed_is_passed_on():
    """A cap that holds under another allocator than asked says so."""
    told = (row(), row("allocator", "direct", "not_expressed", why="the limit comes first"))
    taken = Taken("wallaby", 0, 7, **{**GOOD, "told": told})
    found = judge("wallaby", "Wallaby", "1.0", Launched(0, "", Record((taken,))))
    assert found.said == ("allocator=direct is not expressed: the limit comes first",)
