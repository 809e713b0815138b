"""Programs in fresh interpreters: whatever depends on the order of imports is tested in one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpumem.testing import FreshRun, fresh_python

PROGRAMS = Path(__file__).parent / "programs"
INVENTED = Path(__file__).parents[1] / "invented"


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., FreshRun]:
    """Run a program of `programs/` in a folder of its own, with the invented frameworks at hand."""
    (tmp_path / ".git").mkdir()

    def run_program(name: str, *arguments: str, cwd: Path | None = None, **environ: str) -> FreshRun:
        variables = {
            "GPUMEM_ASSUME_DEVICES": "2x16GiB",
            "PYTHONPATH": os.pathsep.join([str(INVENTED), os.environ.get("PYTHONPATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONWARNINGS": "error",
            **environ,
        }
        return fresh_python(PROGRAMS / name, *arguments, environ=variables, cwd=cwd or tmp_path)

    return run_program
