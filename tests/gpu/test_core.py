"""The core of the support matrix on a real GPU, judged by NVML and by the frameworks' own counters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from matrix.promises.asks import asks
from matrix.promises.cells import Cell
from matrix.promises.on_a_device import CELLS, FRACTIONS, contradictions, fraction_cell, measured, run
from matrix.promises.results import committed

pytestmark = pytest.mark.gpu


def prove(cell: Cell, record: dict[str, Any]) -> None:
    """Run a cell, keep what was measured beside what the model says, and fail with everything that contradicts."""
    (framework,) = cell.frameworks
    shown = run(cell, asks(cell))
    version = shown["versions"][framework].partition("+")[0]
    found = measured(shown, framework)
    modelled = (committed(framework, version) or {}).get(cell.name)
    off = None
    if modelled and modelled["limits"] == list(cell.promise.limits) and not cell.promise.hidden:
        off = found.first + found.grown - modelled["peak"][0]  # the context included
    record[cell.name] = {"version": version, **asdict(found), "model": modelled, "off_by": off}
    assert list(contradictions(cell, shown)) == []


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_a_promise_holds(cell: Cell, record: dict[str, Any]) -> None:
    """What fits is granted, what is beyond is refused, and NVML sees no more than the limit and a context."""
    prove(cell, record)


@pytest.mark.parametrize("framework", FRACTIONS)
def test_a_fraction_is_one_of_this_cards_total(framework: str, card: dict[str, Any], record: dict[str, Any]) -> None:
    """The share that comes to 2 GiB on this card."""
    prove(fraction_cell(framework, card["cuda_total"]), record)


def test_requests_are_charged_in_the_models_steps(card: dict[str, Any]) -> None:
    """A request above 1 MiB is charged rounded up to 2 MiB: the granularity of the simulated GPU."""
    step = 2 << 20
    charged = {int(size): amount for size, amount in card["charged"].items() if int(size) > step // 2}
    assert charged == {size: -(-size // step) * step for size in charged}
