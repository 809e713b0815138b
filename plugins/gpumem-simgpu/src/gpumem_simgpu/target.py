"""The interpreter that a simulated program runs on, and the frameworks it has."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gpumem_simgpu import interpreter_facts
from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.tools import tool_output


@dataclass(frozen=True)
class Installed:
    """One framework's distribution."""

    name: str
    version: str
    folder: Path


@dataclass(frozen=True)
class Target:
    """An interpreter: its ABI decides how CuPy's extension is built, its frameworks which stand-ins exist."""

    python: str
    version: str
    include: Path
    suffix: str
    installed: tuple[Installed, ...]

    def find(self, *names: str) -> Installed | None:
        """Return the first of these distributions that is installed."""
        return next((one for name in names for one in self.installed if one.name == name), None)


@cache
def find_target(python: str) -> Target:
    """Return what the interpreter at this path has; it is asked once in a process."""
    if python == sys.executable:
        found: dict[str, Any] = interpreter_facts.facts()
    else:
        # -P keeps this package's folder out of its path; the frameworks themselves are not imported.
        argv = [python, "-P", interpreter_facts.__file__]
        found = json.loads(tool_output(argv, doing=f"Asking {python} what it has installed"))
    rows = found["installed"].items()
    installed = tuple(Installed(name, version, Path(place)) for name, (version, place) in rows)
    return Target(python, found["python"], Path(found["include"]), found["suffix"], installed)


def absolute_python(command: str) -> str:
    """Return the absolute path of an interpreter, links kept: a virtual environment is known by its link."""
    found = shutil.which(command)
    if found is None:
        message = f"The Python interpreter {command} was not found."
        raise SimulationError(message)
    return os.path.abspath(found)  # noqa: PTH100 - Path.resolve would follow the link out of the environment
