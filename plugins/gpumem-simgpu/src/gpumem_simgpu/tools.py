"""Running compilers and the programs that look into libraries."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpumem_simgpu.errors import SimulationError

# These would be inherited by the compiler; the simulated device has no business in it.
_NOT_FOR_TOOLS = ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH")


def require_tools(*names: str) -> None:
    """Raise one sentence that names what is missing and how to get it."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        message = (
            f"The simulated GPU is compiled on this machine and needs {', '.join(missing)}: "
            "install a C and a C++ compiler and binutils "
            "(Debian and Ubuntu: apt-get install gcc g++ binutils)."
        )
        raise SimulationError(message)


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment without what belongs to a simulated program."""
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_TOOLS}
    return {**kept, **(extra or {})}


def tool_output(
    argv: Sequence[str | Path],
    *,
    doing: str,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Run a tool and return what it printed; a failure is one error that says what was being done."""
    words = [str(word) for word in argv]
    done = subprocess.run(
        words,
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=clean_environment(environment),
        cwd=cwd,
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-2000:]
        message = f"{doing} failed: {words[0]} ended with {done.returncode} and said: {said}"
        raise SimulationError(message)
    return done.stdout
