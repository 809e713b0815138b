"""Gather this interpreter's recorded results into docs/reference.

usage: python tests/simulated/matrix/promises/commit.py newest|oldest
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from matrix.promises.results import COMMITTED, RECORDED, installed


def main(name: str) -> int:
    """Write the results of the installed versions; return 1 where a cell contradicts itself."""
    versions = installed()
    target = next(file for file in COMMITTED if file.stem == f"support-{name}")
    cells: dict[str, dict[str, object]] = {}
    wrong, releases = [], set()
    for framework, release in versions.items():
        for file in sorted((RECORDED / f"{framework}-{release}").glob("*.json")):
            result = json.loads(file.read_text(encoding="utf-8"))
            cell = result.pop("cell")
            result.pop("framework")
            wrong += [f"{cell}, {framework}: {problem}" for problem in result.pop("problems")]
            releases.add(result.pop("gpumem"))
            cells.setdefault(cell, {})[framework] = result
    lines = [
        f" {json.dumps(cell)}: {{\n"
        + ",\n".join(
            f"  {json.dumps(one)}: {json.dumps(cells[cell][one], sort_keys=True)}" for one in sorted(cells[cell])
        )
        + "\n }"
        for cell in sorted(cells)
    ]
    head = f'{{"versions": {json.dumps(versions)}, "gpumem": {json.dumps(sorted(releases))}, "cells": {{\n'
    target.write_text(head + ",\n".join(lines) + "\n}}\n", encoding="utf-8")
    sys.stdout.write("".join(f"{text}\n" for text in [*wrong, f"{len(cells)} cells in {target.name}"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
