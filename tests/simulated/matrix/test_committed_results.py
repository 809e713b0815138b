"""The results that the support table is made from are complete, and of the versions that the locks name."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest
from matrix.promises.cells import (
    BEFORE_THE_IMPORT,
    CROSS_PRODUCT,
    EVERY_ORDER,
    EVERY_ROW_LATER,
    OTHER_MOMENTS,
    OTHER_SOURCES,
    TOGETHER,
)
from matrix.promises.expectations import STATES, crashes
from matrix.promises.results import COMMITTED, DISTRIBUTIONS, ROOT, read

pytestmark = pytest.mark.simulated
IN_CI = (BEFORE_THE_IMPORT, OTHER_MOMENTS, OTHER_SOURCES, TOGETHER)
EXHAUSTIVE = (CROSS_PRODUCT, EVERY_ROW_LATER, EVERY_ORDER)


@pytest.mark.parametrize("file", COMMITTED, ids=lambda file: file.stem)
def test_every_cell_is_there_and_no_other(file: Path) -> None:
    """A cell that is taken away leaves the table, and one that is new needs a result; the oldest have CI's part."""
    data = read(file)
    parts = IN_CI if "oldest" in file.stem else (*IN_CI, *EXHAUSTIVE)
    cells = list(chain.from_iterable(chain.from_iterable(part.values()) for part in parts))
    wanted = {cell.name: set(cell.frameworks) for cell in cells if not crashes(cell.frameworks, data["versions"])}
    assert {name: set(cell) for name, cell in data["cells"].items()} == wanted
    results = [result for cell in data["cells"].values() for result in cell.values()]
    assert {result["state"] for result in results} <= set(STATES)


@pytest.mark.parametrize("file", COMMITTED, ids=lambda file: file.stem)
def test_the_results_are_of_the_versions_that_ci_installs(file: Path) -> None:
    """After an update of a lock the matrix runs again."""
    data = read(file)
    lock = (ROOT / "locks" / f"{file.stem.removeprefix('support-')}-py312.txt").read_text(encoding="utf-8")
    for framework, release in data["versions"].items():
        name = DISTRIBUTIONS.get(framework, framework)
        found = re.search(rf"^{name}(?:-cpu)?==(?P<version>[\w.]+)", lock, re.MULTILINE)
        assert found, name
        assert (framework, found["version"]) == (framework, release)
        versions = {cell[framework]["version"] for cell in data["cells"].values() if framework in cell}
        assert versions == {release}
