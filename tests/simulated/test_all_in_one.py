"""Two and four frameworks in one process under one policy, judged by what each asked of the driver."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.simulated.conftest import RunProgram

pytestmark = pytest.mark.simulated
GIB = 1 << 30
FOUR = ("jax", "tensorflow", "torch", "cupy")


@pytest.mark.parametrize(
    ("moment", "names"),
    # Policies before the imports, in pairs and in both orders, are cells of the matrix.
    [("between", FOUR), ("between", ("torch", "cupy"))],
    ids=lambda value: value if isinstance(value, str) else "+".join(value),
)
def test_each_framework_stays_under_the_cap_and_all_fit(
    run_program: RunProgram, moment: str, names: tuple[str, ...]
) -> None:
    """With a cap of 2 GiB and growth, 512 MiB fit for each and 2 GiB more do not; none held more than 2 GiB."""
    policy = {"cap": "2GiB", "growth": True}
    env = {"POLICY": json.dumps(policy), "TOO_MUCH": str(2 * GIB)}
    result = run_program("all_in_one.py", moment, ",".join(names), devices="1x16GiB", env=env)
    shown = result.json
    assert "granted" not in shown["refused"].values(), shown["refused"]
    assert set(shown["refused"]) == set(names)
    for name in names:
        assert 512 << 20 <= result.run.peak(0, name) <= 2 * GIB, name
        first = result.run.first_request(0, name)
        assert first is not None
        assert first.bytes <= 64 << 20, (name, first)
    rows = [row for row in shown["report"]["rows"] if row["framework"] in names]
    caps = {row["framework"]: row["state"] for row in rows if row["field"] == "cap"}
    assert caps == dict.fromkeys(names, "in_force")
    assert shown["report"]["ok"]


def test_a_cap_that_is_taken_ahead_is_taken_by_each_at_first_touch(run_program: RunProgram) -> None:
    """With preallocate, the first request of each framework is about its whole cap and never more."""
    env = {"POLICY": json.dumps({"cap": "1GiB", "preallocate": True}), "TOO_MUCH": str(GIB)}
    result = run_program("all_in_one.py", "first", ",".join(FOUR), devices="1x16GiB", env=env)
    shown = result.json
    for name in FOUR:
        assert 0.9 * GIB <= result.run.peak(0, name) <= GIB, name
    assert "granted" not in shown["refused"].values()


def test_without_a_policy_the_first_framework_takes_nearly_all(run_program: RunProgram) -> None:
    """The problem itself, so that the tests above cannot pass on a device that refuses everything."""
    result = run_program(
        "all_in_one.py", "first", "tensorflow,cupy", devices="1x16GiB", env={"POLICY": "{}", "TOO_MUCH": str(4 * GIB)}
    )
    assert result.json["refused"]["cupy"] != "granted"
    assert result.run.peak(0, "tensorflow") > 12 * GIB
