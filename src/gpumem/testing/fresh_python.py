"""Programs in a fresh interpreter: everything about import order must be tested in one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FreshRun:
    """What a program did.

    Attributes:
        returncode: its exit code.
        stdout: what it printed.
        stderr: what it complained of.
    """

    returncode: int
    stdout: str
    stderr: str

    def json(self) -> object:
        """Return the last line of the output as JSON.

        Raises:
            AssertionError: when the program failed, with everything it printed.
        """
        assert self.returncode == 0, f"exit code {self.returncode}\n{self.stdout}\n{self.stderr}"
        return json.loads(self.stdout.strip().splitlines()[-1])


def fresh_python(
    program: str | Path,
    *arguments: str,
    environ: Mapping[str, str] | None = None,
    blocked: Sequence[str] = (),
    cwd: Path | None = None,
    timeout: float = 120,
) -> FreshRun:
    """Run a program in a fresh interpreter of the same kind, without the GPUMEM_ variables of this one.

    Args:
        program: a file, or the text of a program.
        *arguments: its arguments.
        environ: variables to add.
        blocked: modules whose import fails there, as if they were not installed.
        cwd: the working directory.
        timeout: seconds until it is ended.

    Example:
        >>> fresh_python("print(1 + 1)").json()
        2
    """
    base = {name: value for name, value in os.environ.items() if not name.startswith("GPUMEM_")}
    base.update(environ or {})
    command = [sys.executable]
    if blocked:
        # An entry of None makes every import of the name fail with ModuleNotFoundError.
        hide = "".join(f"sys.modules[{name!r}] = None\n" for name in blocked)
        text = program.read_text(encoding="utf-8") if isinstance(program, Path) else program
        command += [
            "-c",
            f"import sys\n{hide}\nexec(compile({text!r}, '<program>', 'exec'), {{'__name__': '__main__'}})",
        ]
    elif isinstance(program, Path):
        command.append(str(program))
    else:
        command += ["-c", program]
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, env=base, cwd=cwd, timeout=timeout, check=False
    )
    return FreshRun(done.returncode, done.stdout, done.stderr)
