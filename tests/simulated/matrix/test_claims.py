"""What the plugins claim of their allocators, held against the results and against frameworks without gpumem."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from matrix.promises.cells import FRAMEWORKS, PROMISES, Cell
from matrix.promises.expectations import numbers
from matrix.promises.prove import breaks_limit
from matrix.promises.results import COMMITTED, read
from matrix.promises.run_cell import run_without_gpumem

from gpumem_core.plugins.registry import Registry

pytestmark = pytest.mark.simulated

CAP = PROMISES[0]
NO_CAP = {
    "jax": ("async", "direct", "managed"),
    "tensorflow": ("async", "direct"),
    "torch": ("direct",),
    "cupy": ("direct",),
}
"""The allocators under which gpumem says that no limit holds."""


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_allocator_that_is_said_to_hold_no_limit_holds_none(framework: str) -> None:
    """Without gpumem, with the framework's own limit of 2 GiB: more is granted. Otherwise the plugin is too modest."""
    cells = [(Cell(CAP, (framework,)), word) for word in NO_CAP[framework]]
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(lambda item: run_without_gpumem(*item), cells))
    wrong = [
        f"{word}: {text}"
        for run, (_cell, word) in zip(runs, cells, strict=True)
        for text in breaks_limit(run, framework)
    ]
    assert wrong == []


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("results", COMMITTED, ids=lambda file: file.stem)
def test_what_a_plugin_says_of_its_allocators_is_what_the_matrix_shows(framework: str, results: Path) -> None:
    """`holds_cap` is true exactly of the words that are in force beside a cap; the others are told of."""
    data = read(results)
    version = data["versions"][framework]
    supports = {support.word: support for support in Registry({}).plugins[framework].framework.allocators}
    assert {word for word, support in supports.items() if not support.holds_cap} == set(NO_CAP[framework])
    for word in ("pool", "async", "direct", "vmm", "managed"):
        shown = data["cells"][f"allocator={word}, with a cap/before/arguments/{framework}"][framework]
        claimed = word in supports and supports[word].holds_cap
        if (framework, word) == ("jax", "vmm") and numbers(version) < (0, 10):
            claimed = False  # as the note of the claim says: from 0.10.0
        assert (word, shown["state"]) == (word, "holds" if claimed else "told")
