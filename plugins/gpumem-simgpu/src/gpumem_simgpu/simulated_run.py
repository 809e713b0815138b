"""What a program asked of the simulated devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.log_file import read_events
from gpumem_simgpu.memory_log import Answers, MemoryLog
from gpumem_simgpu.replay import Request

__all__ = ["Request", "SimulatedRun", "read_events"]


@dataclass(frozen=True)
class SimulatedRun(MemoryLog):
    """A finished program: its exit, what it printed, and every line of the device's log, in order."""

    returncode: int
    stdout: str
    stderr: str
    events: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    @classmethod
    def from_log(cls, path: Path | str) -> SimulatedRun:
        """Return what the log of a program says that somebody else ran; its exit code reads 0.

        Raises:
            SimulationError: there is no such file, or it is no log.

        """
        if not Path(path).is_file():
            message = (
                f"{path}: there is no log; SIMGPU_LOG names the file, which a program makes at its first CUDA call"
            )
            raise SimulationError(message)
        return cls(0, "", "", read_events(Path(path)))

    @cached_property
    def _worked_out(self) -> Answers:
        return Answers(self.events)

    def _answers(self) -> Answers:
        return self._worked_out
