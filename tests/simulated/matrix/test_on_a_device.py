"""The judge of tests/gpu, tested on a simulated GPU: it accepts what holds, and finds what does not."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from matrix.promises.asks import asks
from matrix.promises.cells import CAP_AND_GROWTH, GIB, LIMIT, Cell, Promise
from matrix.promises.on_a_device import CELLS, contradictions, fraction_cell, measured, run

from gpumem_simgpu import SimulatedGpus

pytestmark = pytest.mark.simulated
CALIBRATE = Path(__file__).parents[2] / "gpu" / "programs" / "calibrate.py"
QUICK = {("cupy", "cap and growth"), ("torch", "preallocate, with a cap"), ("jax", "hidden")}
EVERY = [
    pytest.param(
        cell,
        id=cell.name,
        marks=() if (cell.frameworks[0], cell.promise.name) in QUICK else pytest.mark.exhaustive,
    )
    for cell in CELLS
]


def simulated(argv: list[str], variables: Mapping[str, str], folder: str) -> str:
    done = SimulatedGpus("1x16GiB", context="300MiB").run(argv, env=variables, cwd=folder)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("cell", EVERY)
def test_it_accepts_what_holds(cell: Cell) -> None:
    """The same programs and the same judge as on a real GPU find nothing."""
    assert list(contradictions(cell, run(cell, asks(cell), simulated))) == []


def test_it_accepts_a_fraction() -> None:
    """The share that comes to 2 GiB."""
    cell = fraction_cell("cupy", 16 * GIB)
    assert list(contradictions(cell, run(cell, asks(cell), simulated))) == []


def test_it_finds_a_limit_that_does_not_hold() -> None:
    """The program's policy has no cap, the cell expects one: every part of the judge says so."""
    cell = Cell(CAP_AND_GROWTH, ("torch",))
    without = Cell(Promise("growth", {"growth": True}, limits=(LIMIT,), ahead=False), ("torch",))
    shown = run(without, asks(cell), simulated)
    found = " ".join(contradictions(cell, shown))
    assert f"beyond: {LIMIT // 2} bytes were granted" in found
    assert "more after the requests beyond the limit" in found
    assert "the framework counts" in found


def test_it_finds_that_nothing_was_taken_ahead() -> None:
    """A cell that is to take its cap ahead, run with growth."""
    cell = Cell(Promise("ahead", {"cap": LIMIT, "growth": True}, ahead=True), ("cupy",))
    found = " ".join(contradictions(cell, run(cell, asks(cell), simulated)))
    assert "were to be taken ahead" in found
    assert "although all was taken ahead" in found


def test_the_context_is_part_of_the_first_mark() -> None:
    """NVML tells it of the process, beside what the allocator holds."""
    cell = Cell(CAP_AND_GROWTH, ("cupy",))
    marks = measured(run(cell, asks(cell), simulated), "cupy")
    assert marks.by_process
    assert 300 << 20 <= marks.first <= 310 << 20
    assert marks.first + marks.grown <= LIMIT + (310 << 20)


def test_the_calibration_reads_the_card(tmp_path: Path) -> None:
    """Totals, the context and the rounding, with no framework."""
    shown = json.loads(simulated([sys.executable, str(CALIBRATE)], {}, str(tmp_path)))
    assert (shown["cuda_total"], shown["context"]) == (16 * GIB, 300 << 20)
    assert set(shown["charged"]) >= {"1", str(64 << 20)}
    assert shown["charged"][str(64 << 20)] == 64 << 20
