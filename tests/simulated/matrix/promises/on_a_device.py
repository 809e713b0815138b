"""The core of the matrix on whatever device there is: judged by NVML and by the frameworks' own counters.

Nothing here knows the simulated GPU; its tests run this on one, to test the judge.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from matrix.promises.cells import LIMIT, MIB, PROMISES, Cell, Promise

PROGRAM = Path(__file__).parents[1] / "programs" / "run_cell.py"
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}
SLACK = 64 * MIB
"""What a framework may take beside its allocator between two marks, in bytes: kernels' code, handles, a rounding."""

Launch = Callable[[list[str], Mapping[str, str], str], str]
"""Runs a command with further variables in a folder, and returns what it printed."""

_NAMED = {promise.name: promise for promise in PROMISES}
CORE: Mapping[str, tuple[str, ...]] = {
    "cap and growth": ("jax", "tensorflow", "torch", "cupy"),
    "preallocate, with a cap": ("jax", "tensorflow", "torch", "cupy"),
    "preallocate=a size, with a cap": ("torch", "cupy"),
    "allocator=async, with a cap": ("torch", "cupy"),
    "allocator=vmm, with a cap": ("jax", "torch"),
    "allocator=managed, with a cap": ("cupy",),
    "hidden": ("jax", "tensorflow"),
}
CELLS = tuple(Cell(_NAMED[name], (framework,)) for name, frameworks in CORE.items() for framework in frameworks)
FRACTIONS = ("jax", "tensorflow", "torch", "cupy")


def fraction_cell(framework: str, total: int) -> Cell:
    """Return the cell of a fraction that comes to about `LIMIT` bytes on a device with `total` bytes."""
    share = round(LIMIT / total, 3)
    return Cell(
        Promise("fraction", {"fraction": share, "growth": True}, "", (int(share * total),), ahead=False), (framework,)
    )


@dataclass(frozen=True)
class Measured:
    """What a cell showed on a device; bytes.

    Attributes:
        first: how much more NVML told after the first touch than at the start, context included.
        grown: how much more after the limit was filled than after the first touch.
        over: how much more after the requests beyond the limit.
        counted: what the framework itself counts, None where it does not.
        by_process: whether NVML told it of the process; else the numbers are the device's, others included.
    """

    first: int
    grown: int
    over: int
    counted: int | None
    by_process: bool


def launch(argv: list[str], variables: Mapping[str, str], folder: str) -> str:
    """Run a program on this machine's own GPU."""
    done = subprocess.run(
        argv, env={**os.environ, **variables}, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr[-4000:]}"
    return done.stdout


def run(cell: Cell, asks: Mapping[str, object], start: Launch = launch) -> Mapping[str, Any]:
    """Run a cell's program and return what it printed."""
    (framework,) = cell.frameworks
    policy = {"frameworks": {framework: "hidden"}} if cell.promise.hidden else dict(cell.promise.policy)
    order = {"frameworks": [framework], "moment": "before", "policy": policy, "prefer": {}, "asks": asks, "marks": True}
    with TemporaryDirectory(prefix="gpumem-cell-") as folder:
        printed = start([sys.executable, str(PROGRAM)], {**QUIET, "CELL": json.dumps(order)}, folder)
    return dict(json.loads(printed.strip().splitlines()[-1]))


def measured(shown: Mapping[str, Any], framework: str) -> Measured:
    """Return what a program's marks come to."""
    marks = shown["marks"]
    by_process = marks["beyond"]["process"] is not None
    kind = "process" if by_process else "devices"
    start, first, full, beyond = ((marks[name][kind] or 0) for name in ("start", "first", "fill", "beyond"))
    return Measured(first - start, full - first, beyond - full, shown["held"][framework], by_process)


def contradictions(cell: Cell, shown: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the device and the framework's counters contradict the policy or the report."""
    (framework,), promise = cell.frameworks, cell.promise
    found = measured(shown, framework)
    states = {row["field"]: row["state"] for row in shown["rows"]}
    if set(states.values()) != {"in_force"} or not shown["ok"]:
        yield f"the report says {states}"
    if promise.hidden:
        if shown["gpus"][framework] or (found.by_process and found.first):
            yield f"hidden, but NVML tells {found.first} bytes"
        return
    (limit,) = promise.limits
    assert limit is not None
    for answer in shown["answers"]:
        granted = answer["answer"] == "granted"
        if granted is (answer["kind"] == "beyond") and answer["kind"] != "rest":
            yield f"{answer['kind']}: {answer['bytes']} bytes were {answer['answer']}"
    if found.over > SLACK:
        yield f"{found.over} bytes more after the requests beyond the limit"
    if found.counted is not None and found.counted > limit:
        yield f"the framework counts {found.counted} bytes, its limit is {limit}"
    ahead = limit if promise.ahead is True else int(promise.ahead or 0)
    if promise.ahead and found.first < ahead - max(ahead // 32, 22 * MIB) - 2 * MIB:
        yield f"{ahead} bytes were to be taken ahead, NVML tells {found.first} after the first touch"
    if promise.ahead is True and found.grown > SLACK:
        yield f"grew by {found.grown} bytes although all was taken ahead"
    if found.grown > limit + SLACK:
        yield f"grew by {found.grown} bytes, its limit is {limit}"
    if promise.ahead is False and found.grown < limit - 3 * SLACK:
        yield f"grew by {found.grown} bytes only, its limit is {limit}"
