"""The proof of every cell of the support table: real frameworks on the simulated GPU, judged by the device's log."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from matrix.promises.cells import (
    BEFORE_THE_IMPORT,
    CROSS_PRODUCT,
    EVERY_ORDER,
    EVERY_ROW_LATER,
    OTHER_MOMENTS,
    OTHER_SOURCES,
    TOGETHER,
    Cell,
)
from matrix.promises.expectations import crashes
from matrix.promises.judge import judge
from matrix.promises.results import differences, installed, record
from matrix.promises.run_cell import crash, run_cells

pytestmark = pytest.mark.simulated
EXHAUSTIVE = CROSS_PRODUCT | EVERY_ROW_LATER | EVERY_ORDER


RecordProperty = Callable[[str, object], None]


def prove(cells: tuple[Cell, ...], record_property: RecordProperty) -> None:
    """Run the cells, record what each shows, and fail with everything that contradicts."""
    crashing = [cell for cell in cells if crashes(cell.frameworks, installed())]
    wrong = [f"{cell.name} is said to crash without gpumem, and does not" for cell in crashing if crash(cell) >= 0]
    for run in run_cells(cell for cell in cells if cell not in crashing):
        for framework in run.cell.frameworks:
            result = judge(run, framework)
            record(run.cell, framework, result)
            record_property(f"matrix cells of {framework}", run.cell.name)
            found = [*result.problems, *differences(run.cell, framework, result)]
            wrong += [f"{framework} {result.version}: {text}" for text in found]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("row", BEFORE_THE_IMPORT)
def test_before_the_import(row: str, record_property: RecordProperty) -> None:
    """Each promise holds for each framework, or gpumem says before the first allocation what does not."""
    prove(BEFORE_THE_IMPORT[row], record_property)


@pytest.mark.parametrize("row", OTHER_MOMENTS)
def test_later(row: str, record_property: RecordProperty) -> None:
    """Declared after the import or after discovery a policy holds; after the start what is too late is an error."""
    prove(OTHER_MOMENTS[row], record_property)


@pytest.mark.parametrize("row", OTHER_SOURCES)
def test_by_another_source(row: str, record_property: RecordProperty) -> None:
    """Variables, a file, a library and an override say the same as arguments; arguments beat the user's own ways."""
    prove(OTHER_SOURCES[row], record_property)


@pytest.mark.parametrize("names", TOGETHER)
def test_together(names: str, record_property: RecordProperty) -> None:
    """Several frameworks in one process: each allocator stays within its own cap, and all fit."""
    prove(TOGETHER[names], record_property)


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", EXHAUSTIVE)
def test_at_every_moment_by_every_source(row: str, record_property: RecordProperty) -> None:
    """Moments times sources, every promise at every moment, and frameworks in every order."""
    prove(EXHAUSTIVE[row], record_property)
