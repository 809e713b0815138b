"""Real frameworks on the simulated GPU. Each program is a file and runs in a fresh interpreter."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from gpumem_simgpu import SimulatedGpus, SimulatedRun

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class ProgramRun:
    """A program's run: what it printed and what its frameworks asked of the driver."""

    run: SimulatedRun

    @property
    def json(self) -> Any:
        """The last line of the output, as JSON; fails with everything the program printed."""
        told = f"exit code {self.run.returncode}\n{self.run.stdout}\n{self.run.stderr[-6000:]}"
        assert self.run.returncode == 0, told
        return json.loads(self.run.stdout.strip().splitlines()[-1])


class RunProgram(Protocol):
    def __call__(
        self,
        program: str,
        *arguments: str,
        devices: str = "2x16GiB",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        **machine: Any,
    ) -> ProgramRun: ...


@pytest.fixture
def run_program(tmp_path: Path) -> RunProgram:
    """Run a program of `programs/` on simulated devices; `machine` are further arguments of `SimulatedGpus`."""

    def run(
        program: str,
        *arguments: str,
        devices: str = "2x16GiB",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        **machine: Any,
    ) -> ProgramRun:
        gpus = SimulatedGpus(devices, **machine)
        argv = [sys.executable, str(PROGRAMS / program), *arguments]
        variables = {"TF_CPP_MIN_LOG_LEVEL": "2", **(env or {})}
        return ProgramRun(gpus.run(argv, env=variables, cwd=cwd or tmp_path))

    return run
