"""Running a script in a fresh interpreter, on this machine's devices or on simulated ones."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gpumem_tools.trial.record import Record, read_record
from gpumem_tools.trial.script import Script
from gpumem_tools.trial.take_turns import PROGRAM

if TYPE_CHECKING:
    from gpumem_simgpu import SimulatedGpus, SimulatedRun

LONGEST: Final = 300
"""Seconds after which a trial is ended. A framework may wait ten seconds before it says that there is no room."""


@dataclass(frozen=True)
class Launched:
    """A trial that is over.

    Attributes:
        returncode: the exit code of its first process, None where it took too long and was ended.
        stderr: what its processes complained of.
        record: what became of it.
        run: what the simulated devices were asked for, None on real ones.
    """

    returncode: int | None
    stderr: str
    record: Record
    run: SimulatedRun | None = None


def launch(
    script: Script, environ: Mapping[str, str], gpus: SimulatedGpus | None, longest: float = LONGEST
) -> Launched:
    """Run a script to its end and return what became of it.

    Args:
        script: what is to be done.
        environ: the whole environment of the process.
        gpus: the simulated devices, None for those of this machine.
        longest: seconds after which it is ended.

    Raises:
        gpumem_simgpu.SimulationError: the simulated devices cannot be built here.
    """
    with tempfile.TemporaryDirectory(prefix="gpumem-trial-") as name:
        folder = Path(name)
        record, log = folder / "record", folder / "log"
        environment = dict(environ)
        if gpus is not None:
            environment = gpus.environment(environ, log)
            environment["SIMGPU_STATE"] = str(folder / "state")
        argv = [sys.executable, "-P", "-c", PROGRAM, script.to_json(), str(record), "0"]
        code, stderr = _finish(argv, environment, longest)
        return Launched(code, stderr, read_record(record), _run_of(log, code) if gpus is not None else None)


def _finish(argv: list[str], environment: Mapping[str, str], longest: float) -> tuple[int | None, str]:
    with subprocess.Popen(
        argv,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            return _wait(process, longest)
        finally:
            # A second process that outlives the first would hold on to its memory.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _wait(process: subprocess.Popen[str], longest: float) -> tuple[int | None, str]:
    try:
        _nothing, heard = process.communicate(timeout=longest)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[1]
    return process.returncode, heard


def _run_of(log: Path, code: int | None) -> SimulatedRun:
    from gpumem_simgpu import SimulatedRun

    # A program that never came to the devices leaves no log, which here is an answer and no fault.
    events = SimulatedRun.from_log(log).events if log.exists() else ()
    return SimulatedRun(code or 0, "", "", events)


def ending(launched: Launched) -> str:
    """Return how a trial ended that did not end well, in words."""
    code = launched.returncode
    if code is None:
        return "it did not end and was stopped"
    how = f"it was ended by signal {-code}" if code < 0 else f"it ended with exit code {code}"
    said = [line for line in launched.stderr.strip().splitlines() if line.strip()]
    return f"{how}: {said[-1].strip()}" if said else how
