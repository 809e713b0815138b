"""What the plugins claim of their allocators, held against the results and against frameworks without gpumem."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from matrix.promises.cells import FRAMEWORKS, PROMISES, Cell
from matrix.promises.expectations import ROUNDED_UP, numbers
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


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("results", COMMITTED, ids=lambda file: file.stem)
def test_a_limit_that_is_called_hard_was_never_exceeded(framework: str, results: Path) -> None:
    """In no cell in which the limit holds; where it does not, nothing was set, and that was an error."""
    supports = {support.field: support for support in Registry({}).plugins[framework].framework.fields}
    assert supports["limit"].strength == "hard"
    for name, cell in read(results)["cells"].items():
        result = cell.get(framework)
        if result is None or "limit" in result["missing"]:
            assert result is None or result["state"] in {"late", "left out"}
            continue
        more = ROUNDED_UP.get((framework, name.partition("/")[0]), 0)
        for limit, peak in zip(result["limits"], result["peak"], strict=True):
            assert limit is None or peak <= limit + more, name


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("results", COMMITTED, ids=lambda file: file.stem)
def test_a_setting_that_is_called_never_too_late_was_never_late(framework: str, results: Path) -> None:
    """Deadlines, as the plugins tell them, against what came too late."""
    supports = {support.field: support for support in Registry({}).plugins[framework].framework.fields}
    late = {field for cell in read(results)["cells"].values() for field in _late(cell.get(framework))}
    for field in ("limit", "preallocate"):
        never = any(words in supports[field].deadline for words in ("never", "any time"))
        assert (field in late) is not never, (field, supports[field].deadline)


def _late(result: Mapping[str, Any] | None) -> tuple[str, ...]:
    return tuple(result["missing"]) if result and result["state"] == "late" else ()
