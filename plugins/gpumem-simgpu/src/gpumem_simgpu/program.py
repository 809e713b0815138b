"""Running one program to its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Finished:
    """How a program ended, and what it printed while nobody else read that."""

    returncode: int
    stdout: str = ""
    stderr: str = ""


def run_program(
    argv: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path | str | None = None,
    timeout: float | None = None,
    *,
    stream: bool = False,
) -> Finished:
    """Run a command to its end; one that takes longer is ended with all its children.

    With ``stream`` the program has this process's own input and outputs, and is in its group, so that Ctrl-C
    at a terminal reaches it and it may read from there.
    """
    outputs = None if stream else subprocess.PIPE
    with subprocess.Popen(
        list(argv),
        env=dict(environment),
        cwd=cwd,
        stdin=None if stream else subprocess.DEVNULL,
        stdout=outputs,
        stderr=outputs,
        text=True,
        errors="replace",
        start_new_session=not stream,
    ) as process:
        try:
            stdout, stderr = _wait(process, timeout, stream=stream)
        finally:
            _end(process, stream=stream)
    return Finished(process.returncode, stdout or "", stderr or "")


def _wait(process: subprocess.Popen[str], timeout: float | None, *, stream: bool) -> tuple[str | None, str | None]:
    if not stream:
        return process.communicate(timeout=timeout)
    try:
        process.wait(timeout)
    except KeyboardInterrupt:
        # The terminal sent Ctrl-C to the program too: what becomes of it is the program's own affair.
        process.wait(timeout)
    return None, None


def _end(process: subprocess.Popen[str], *, stream: bool) -> None:
    """End what does not end, and children that outlive their program: they would hold on to its memory."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if not stream:
            os.killpg(process.pid, signal.SIGKILL)
        elif process.poll() is None:
            process.kill()
