"""A cell's program on the simulated GPU: what it declares, asks for and prints, and what the device logged."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from matrix.promises.asks import asks
from matrix.promises.cells import GIB, LIMIT, Cell

from gpumem_simgpu import SimulatedGpus, SimulatedRun

PROGRAM = Path(__file__).parents[1] / "programs" / "run_cell.py"
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}

OWN: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "own variables": {
        "jax": {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.5"},
        "tensorflow": {"TF_FORCE_GPU_ALLOW_GROWTH": "false"},
        "torch": {"PYTORCH_CUDA_ALLOC_CONF": "backend:native,garbage_collection_threshold:0.9"},
        "cupy": {"CUPY_GPU_MEMORY_LIMIT": str(8 * GIB)},
    },
    "own allocator": {
        "jax": {"XLA_PYTHON_CLIENT_ALLOCATOR": "cuda_async"},
        "tensorflow": {"TF_GPU_ALLOCATOR": "cuda_malloc_async"},
        "torch": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
        "cupy": {},
    },
}
"""What the user has set in each framework's own way, against which the policy is declared."""


@dataclass(frozen=True)
class CellRun:
    """What became of a cell: its output and the device's log."""

    cell: Cell
    shown: Mapping[str, Any]
    run: SimulatedRun

    def answers(self, framework: str, kind: str) -> tuple[Mapping[str, Any], ...]:
        """Return the answers that a framework gave to one kind of ask."""
        return tuple(a for a in self.shown["answers"] if (a["framework"], a["kind"]) == (framework, kind))

    def rows(self, framework: str, when: str = "rows") -> tuple[Mapping[str, Any], ...]:
        """Return the report's rows on a framework: in the end, or `before` the first allocation."""
        return tuple(row for row in self.shown[when] if row["framework"] == framework)


def run_cells(cells: Iterable[Cell]) -> tuple[CellRun, ...]:
    """Run cells at the same time: two of the four frameworks wait ten seconds before they refuse."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        return tuple(pool.map(run_cell, cells))


def run_cell(cell: Cell) -> CellRun:
    """Run one cell in a fresh interpreter, on devices and in a folder of its own."""
    with TemporaryDirectory(prefix="gpumem-cell-") as folder:
        order, variables = declare(cell, Path(folder))
        return _run(cell, order, variables, folder)


def crash(cell: Cell) -> int:
    """Run the frameworks of a cell in one process without gpumem and without a limit; return the exit code."""
    with TemporaryDirectory(prefix="gpumem-cell-") as folder:
        order = {"frameworks": cell.frameworks, "asks": {name: [("first", 0, 1 << 20)] for name in cell.frameworks}}
        env = {**QUIET, "CELL": json.dumps({**order, "native": []})}
        return SimulatedGpus(cell.promise.devices).run([sys.executable, str(PROGRAM)], env=env, cwd=folder).returncode


def run_without_gpumem(cell: Cell, word: str) -> CellRun:
    """Run a framework with its own limit and allocator, to see whether its limit holds."""
    with TemporaryDirectory(prefix="gpumem-cell-") as folder:
        order = {"frameworks": cell.frameworks, "asks": asks(cell), "native": [LIMIT, word]}
        return _run(cell, order, {}, folder)


def _run(cell: Cell, order: Mapping[str, object], variables: Mapping[str, str], folder: str) -> CellRun:
    run = SimulatedGpus(cell.promise.devices).run(
        [sys.executable, str(PROGRAM)], env={**QUIET, **variables, "CELL": json.dumps(order)}, cwd=folder
    )
    assert run.returncode == 0, f"{cell.name}: exit code {run.returncode}\n{run.stdout}\n{run.stderr[-4000:]}"
    return CellRun(cell, json.loads(run.stdout.strip().splitlines()[-1]), run)


def declare(cell: Cell, folder: Path) -> tuple[Mapping[str, object], Mapping[str, str]]:
    """Return the program's order and its variables; a pyproject.toml is written into the folder."""
    fields = _fields(cell)
    order: dict[str, object] = {
        "frameworks": cell.frameworks,
        "moment": cell.moment,
        "policy": {},
        "prefer": {},
        "asks": asks(cell),
    }
    variables: dict[str, str] = {}
    if cell.source == "arguments" or cell.source in OWN:
        order["policy"] = fields
    elif cell.source == "prefer":
        order["prefer"] = fields
    elif cell.source == "device override":
        order["policy"] = _for_device_0(fields)
    elif cell.source == "variables":
        variables = {f"GPUMEM_{name.upper()}": _text(value) for name, value in fields.items()}
    else:
        lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
        (folder / "pyproject.toml").write_text("\n".join(["[tool.gpumem]", *lines, ""]), encoding="utf-8")
    for framework in cell.frameworks:
        variables |= OWN.get(cell.source, {}).get(framework, {})
    if "TF_FORCE_GPU_ALLOW_GROWTH" in variables and cell.promise.ahead:
        variables["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    return order, variables


def _fields(cell: Cell) -> dict[str, object]:
    if cell.promise.hidden:
        return {"frameworks": dict.fromkeys(cell.frameworks, "hidden")}
    return dict(cell.promise.policy)


def _for_device_0(fields: Mapping[str, object]) -> dict[str, object]:
    per_device = {name: value for name, value in fields.items() if name in {"cap", "fraction", "preallocate", "growth"}}
    rest = {name: value for name, value in fields.items() if name not in per_device}
    return {**rest, "cap": "8GiB", "devices": {"0": per_device}}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
