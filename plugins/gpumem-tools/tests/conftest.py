"""An invented framework with its plugin, installed as if by pip; and the command line with what it printed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

INVENTED = Path(__file__).parent / "invented"
DIST_INFO = {
    "METADATA": "Metadata-Version: 2.1\nName: gpumem-wallaby\nVersion: 0.9\n",
    "entry_points.txt": "[gpumem]\nwallaby = wallaby_plugin\n",
}


@dataclass(frozen=True)
class Ran:
    """A command that is over."""

    code: int
    out: str
    err: str


RunGpumem = Callable[..., Ran]


@pytest.fixture
def gpumem(tmp_path: Path) -> RunGpumem:
    """Run ``python -m gpumem`` in an empty project, with the invented framework and none of the real ones."""
    (tmp_path / ".git").mkdir()
    site = tmp_path / "site" / "gpumem_wallaby-0.9.dist-info"
    site.mkdir(parents=True)
    for name, text in DIST_INFO.items():
        (site / name).write_text(text)

    def run(*words: str, framework: bool = True, stdin: str = "", **environ: str) -> Ran:
        base = {name: value for name, value in os.environ.items() if not name.startswith("GPUMEM_")}
        path = [str(tmp_path / "site"), str(INVENTED)] if framework else []
        # The real frameworks take seconds and are tried by tests of their own.
        path.append(str(INVENTED / "without_real_frameworks"))
        base |= {"PYTHONPATH": os.pathsep.join(path), "COLUMNS": "80", **environ}
        done = subprocess.run(
            [sys.executable, "-P", "-m", "gpumem", *words],
            env=base,
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run
