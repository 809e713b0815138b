"""Where the matrix once contradicted a plugin or a page, kept under the name of what was wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from matrix.promises.cells import FRAMEWORKS, GIB, MIB, Cell, Promise
from matrix.promises.run_cell import PROGRAM, QUIET, run_cell

from gpumem_simgpu import OtherProcess, SimulatedGpus

pytestmark = pytest.mark.simulated


@pytest.mark.parametrize("word", ["async", "managed"])
def test_cupys_former_pool_and_its_new_one_together_stay_within_the_cap(word: str, tmp_path: Path) -> None:
    """What existed before the allocator changed was not counted: 2.5 GiB were held, and the cap was "in force"."""
    argv = [sys.executable, str(PROGRAM.parent / "cupy_former_pool.py"), word]
    run = SimulatedGpus("1x16GiB").run(argv, env=QUIET, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    shown = json.loads(run.stdout)
    assert shown["granted"] == [True, True, False, True]
    assert run.peak(0, "cupy") == 1856 * MIB
    state, in_force, why = shown["rows"]["cap"]
    assert (state, in_force) == ("in_force", 1536 * MIB)
    assert "beside 512 MiB that its other pools hold" in why


def test_cupys_fraction_of_unequal_cards_is_each_cards_own() -> None:
    """Both cards had the smaller one's share, although CuPy learns at its first touch which card it is."""
    policy = {"fraction": 0.5, "preallocate": True}
    promise = Promise("fraction ahead", policy, "8GiB,16GiB", (4 * GIB, 8 * GIB), ahead=True)
    run = run_cell(Cell(promise, ("cupy",)))
    for device, limit in enumerate(promise.limits):
        first = run.run.first_request(device, "cupy")
        assert first is not None
        assert first.bytes == run.run.peak(device, "cupy") == limit
    states = {row["field"]: row["state"] for row in run.rows("cupy")}
    assert states == {"fraction": "in_force", "preallocate": "in_force"}


def test_jax_does_not_say_that_the_larger_card_gets_less() -> None:
    """Before JAX starts it is uncertain which card is which; the row of either said 1 GiB instead of 2."""
    promise = Promise("cap", {"cap": 2 * GIB, "growth": True}, "8GiB,16GiB", (GIB, 2 * GIB), ahead=False)
    run = run_cell(Cell(promise, ("jax",)))
    caps = {row["device"]: row for row in run.rows("jax") if row["field"] == "cap"}
    assert [caps[device]["in_force"] for device in (0, 1)] == [GIB, 2 * GIB]
    for row in caps.values():
        assert "1 GiB instead of 2 GiB on device 1, if that is the smaller card" in row["why"]


def test_what_was_not_taken_ahead_is_not_in_force(tmp_path: Path) -> None:
    """Another process takes half of the card first: the cap holds, and the report says that less was taken ahead.

    TensorFlow has no call that tells it, which its row says.
    """
    gpus = SimulatedGpus("1x16GiB", faults=(OtherProcess(8 * GIB, 1),))
    shown = {}
    for name in FRAMEWORKS:
        policy = {"cap": "12GiB", "preallocate": True}
        order = {"frameworks": [name], "moment": "before", "policy": policy, "prefer": {}}
        cell = json.dumps({**order, "asks": {name: [("first", 0, MIB), ("fits", 0, GIB)]}})
        run = gpus.run([sys.executable, str(PROGRAM)], env={**QUIET, "CELL": cell}, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        assert GIB <= run.peak(0, name) <= 8 * GIB
        rows = {row["field"]: row for row in json.loads(run.stdout)["rows"]}
        shown[name] = (rows["cap"]["state"], rows["preallocate"]["state"])
        assert name != "tensorflow" or "no read-back" in rows["preallocate"]["why"]
    assert shown == {
        "jax": ("in_force", "differs"),
        "tensorflow": ("in_force", "in_force"),
        "torch": ("in_force", "failed"),
        "cupy": ("in_force", "failed"),
    }
