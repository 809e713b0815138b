"""The core of the support matrix on a real GPU; `--record FILE` also writes how far the model was off."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CALIBRATE = Path(__file__).parent / "programs" / "calibrate.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--record", metavar="FILE", help="write what was measured, and the model's deviations, as JSON")


@pytest.fixture(scope="session")
def card() -> dict[str, Any]:
    """The first GPU: totals, what a context costs, and how requests are rounded."""
    done = subprocess.run([sys.executable, CALIBRATE], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        pytest.fail(f"these tests need an NVIDIA GPU: {done.stderr.strip().splitlines()[-1]}", pytrace=False)
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="session")
def record(request: pytest.FixtureRequest, card: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What is measured, by cell; written to the file of ``--record`` at the end."""
    cells: dict[str, Any] = {}
    yield cells
    file = request.config.getoption("--record")
    if file:
        Path(file).write_text(json.dumps({"card": card, "cells": cells}, indent=1, sort_keys=True) + "\n", "utf-8")
