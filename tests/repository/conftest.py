"""What the rules of the house look at."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def tracked() -> tuple[Path, ...]:
    """Every file that is committed or would be: what git ignores does not count."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(path for name in sorted(listed.stdout.split("\0")) if name and (path := ROOT / name).is_file())


@pytest.fixture(scope="session")
def python_files(tracked: tuple[Path, ...]) -> tuple[Path, ...]:
    """Every Python file."""
    return tuple(path for path in tracked if path.suffix == ".py")


@pytest.fixture(scope="session")
def plugins() -> tuple[Path, ...]:
    """The folder of every package under plugins/."""
    return tuple(sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml")))


@pytest.fixture(scope="session")
def framework_plugins(plugins: tuple[Path, ...]) -> tuple[Path, ...]:
    """The folders of the packages that serve a framework: those with an entry point in the group gpumem."""
    return tuple(path for path in plugins if "gpumem" in read_pyproject(path)["project"].get("entry-points", {}))


@pytest.fixture(scope="session")
def pyproject() -> Callable[[Path], dict[str, Any]]:
    """Read the pyproject.toml of a folder."""
    return read_pyproject


def read_pyproject(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
