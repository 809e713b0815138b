"""Results as JSON: each cell's own file in build/matrix, and the committed ones that the support table is made from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from matrix.promises.cells import FRAMEWORKS, Cell
from matrix.promises.judge import Result

ROOT = Path(__file__).parents[4]
RECORDED = ROOT / "build" / "matrix"
COMMITTED = tuple(ROOT / "docs" / "reference" / f"support-{name}.json" for name in ("newest", "oldest"))
COMPARED = tuple(one.name for one in fields(Result) if one.name not in {"gpumem", "problems", "said"})


DISTRIBUTIONS = {"cupy": "cupy-cuda12x"}
"""Where a framework's distribution is named otherwise."""


def installed() -> Mapping[str, str]:
    """Return the installed versions of the frameworks, without the name of the build."""
    return {name: version(DISTRIBUTIONS.get(name, name)).partition("+")[0] for name in FRAMEWORKS}


def place_of(cell: Cell, framework: str, release: str) -> Path:
    """Return the file of a result; no two results have the same one, whichever process records them."""
    slug = re.sub(r"[^a-z0-9]+", "-", cell.name.lower()).strip("-")
    return RECORDED / f"{framework}-{release}" / f"{slug}.json"


def as_json(result: Result) -> dict[str, Any]:
    """Return a result as plain JSON values; places in messages without the folder of this checkout."""
    value = dict(json.loads(json.dumps(asdict(result))))
    return {**value, "said": value["said"].replace(f"{ROOT}/", "")}


def record(cell: Cell, framework: str, result: Result) -> None:
    """Write a result to its file."""
    place = place_of(cell, framework, result.version)
    place.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"cell": cell.name, "framework": framework, **as_json(result)}, indent=1, sort_keys=True)
    place.write_text(text + "\n", encoding="utf-8")


def read(file: Path) -> Mapping[str, Any]:
    """Return the contents of a file of committed results."""
    return dict(json.loads(file.read_text(encoding="utf-8")))


def committed(framework: str, release: str) -> Mapping[str, Any] | None:
    """Return the committed results of a version of a framework by cell; None where there are none."""
    for file in COMMITTED:
        if file.exists() and (data := read(file))["versions"][framework] == release:
            return {name: cell[framework] for name, cell in data["cells"].items() if framework in cell}
    return None


def differences(cell: Cell, framework: str, result: Result) -> list[str]:
    """Return where a result differs from the committed one, on which the support table stands."""
    known = committed(framework, result.version)
    if known is None:
        return []
    if cell.name not in known:
        return ["the committed results do not have this cell: run promises/commit.py"]
    now, then = as_json(result), known[cell.name]
    return [f"{name} is {now[name]}, committed is {then[name]}" for name in COMPARED if now[name] != then[name]]
