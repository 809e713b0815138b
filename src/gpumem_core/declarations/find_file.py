"""The search for the project's configuration file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

BOUNDARIES: Final = (".git", ".hg", ".svn", ".jj")
NAMES: Final = ("gpumem.toml", "pyproject.toml")
"""In one folder the file of our own name comes first."""


def script_folder() -> Path | None:
    """Return the folder of the running script, None for an interactive interpreter or ``-c``."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if not isinstance(file, str):
        return None
    try:
        return Path(file).resolve().parent
    except (OSError, RuntimeError):  # a deleted folder, or a loop of links
        return None


def working_directory() -> Path | None:
    """Return the working directory, None if it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None


def starts() -> tuple[Path, ...]:
    """Return the folders where a search begins: the script's, then the working directory."""
    found: list[Path] = []
    for folder in (script_folder(), working_directory()):
        if folder is not None and folder not in found:
            found.append(folder)
    return tuple(found)


def upwards(start: Path) -> Iterator[Path]:
    """Yield `start` and the folders above it, up to a repository's top or the border of the file system."""
    try:
        device = start.stat().st_dev
    except OSError:
        return
    for folder in (start, *start.parents):
        try:
            if folder.stat().st_dev != device:
                return
        except OSError:
            return
        yield folder
        if any(os.path.lexists(folder / mark) for mark in BOUNDARIES):
            return


def candidates(start: Path) -> Iterator[Path]:
    """Yield the existing configuration files from `start` upwards, nearest first."""
    for folder in upwards(start):
        for name in NAMES:
            path = folder / name
            if os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises where a folder may not be entered
                yield path
