"""The questions that a log answers, finished or still being written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from gpumem_simgpu.log_file import read_events
from gpumem_simgpu.memory_use import MemoryUse, SimulatedProcess, processes, uses
from gpumem_simgpu.replay import Change, Replay, Request, replay


class Answers:
    """What follows from the lines of a log; each answer is worked out once."""

    def __init__(self, events: tuple[Mapping[str, Any], ...]) -> None:
        self.events = events
        self._peaks: dict[tuple[int, str | None, int | None], int] = {}

    @cached_property
    def played(self) -> Replay:
        """The log, played back."""
        return replay(self.events)

    @cached_property
    def requests(self) -> dict[int, tuple[Request, ...]]:
        """The requests of libraries for each device, in order."""
        found: dict[int, list[Request]] = {}
        for one in self.played.asked:
            if one.counts_as_request:
                found.setdefault(one.request.device, []).append(one.request)
        return {device: tuple(asked) for device, asked in found.items()}

    @cached_property
    def uses(self) -> tuple[MemoryUse, ...]:
        """Who used how much."""
        return uses(self.played)

    @cached_property
    def processes(self) -> tuple[SimulatedProcess, ...]:
        """Which processes there were."""
        return processes(self.events, self.played)

    def peak(self, device: int, library: str | None, pid: int | None) -> int:
        """Return the most bytes held at one time."""
        key = (device, library, pid)
        if key not in self._peaks:
            held = most = 0
            for change in self.played.changes:
                if change.device == device and _is_of(change, library, pid):
                    held += change.bytes
                    most = max(most, held)
            self._peaks[key] = most
        return self._peaks[key]

    def timeline(self, bus: int, library: str | None, pid: int | None) -> tuple[tuple[float, int], ...]:
        """Return what was held after each change, with the log's beginning and end."""
        if not self.events:
            return ()
        held = 0
        points = [(0.0, 0)]
        for change in self.played.changes:
            if change.bus == bus and _is_of(change, library, pid):
                held += change.bytes
                points.append((change.seconds, held))
        if self.played.seconds > points[-1][0]:
            points.append((self.played.seconds, held))
        return tuple(points)


def _is_of(change: Change, library: str | None, pid: int | None) -> bool:
    return library in (None, change.library) and pid in (None, change.pid)


class MemoryLog(ABC):
    """What programs asked of the simulated devices.

    ``device`` is the number under which the asking process sees a device, so it follows that process's
    CUDA_VISIBLE_DEVICES. ``library`` is "jax", "tensorflow", "torch", "cupy", or the file name of any other;
    ``pid`` narrows an answer to one process.
    """

    @abstractmethod
    def _answers(self) -> Answers:
        """Return what follows from the lines that there are."""

    def requests(self, device: int = 0, library: str | None = None, pid: int | None = None) -> tuple[Request, ...]:
        """Return every request for memory of a device, in order.

        A request to a stream-ordered pool (cuMemAllocAsync) counts as the program made it, also when the pool
        serves it from memory that it kept.
        """
        asked = self._answers().requests.get(device, ())
        if library is None and pid is None:
            return asked
        return tuple(one for one in asked if library in (None, one.library) and pid in (None, one.pid))

    def first_request(self, device: int = 0, library: str | None = None, pid: int | None = None) -> Request | None:
        """Return the first request, or None when nothing was asked for."""
        return next(iter(self.requests(device, library, pid)), None)

    def refused(self, device: int = 0, library: str | None = None, pid: int | None = None) -> tuple[Request, ...]:
        """Return the requests that were refused."""
        return tuple(one for one in self.requests(device, library, pid) if not one.granted)

    def peak(self, device: int = 0, library: str | None = None, pid: int | None = None) -> int:
        """Return the most bytes ever held at one time on a device.

        Bytes count as they were asked for, without the rounding of the device. An allocation belongs to the
        library that asked for it, whoever frees it. Contexts belong to the process, and what the fault "other
        process" takes to that one: they count for the device, for no library. A process that ends gives back
        all it held.
        """
        return self._answers().peak(device, library, pid)

    def use(self) -> tuple[MemoryUse, ...]:
        """Return a row for each device, process and library."""
        return self._answers().uses

    def timeline(
        self, device: int, library: str | None = None, pid: int | None = None
    ) -> tuple[tuple[float, int], ...]:
        """Return the seconds since the log's first line and the bytes held then, after each change.

        Here ``device`` is the bus number, since several processes may see one device under different numbers.
        """
        return self._answers().timeline(device, library, pid)

    @property
    def processes(self) -> tuple[SimulatedProcess, ...]:
        """The processes that used the devices, in the order in which they appear."""
        return self._answers().processes


class SimulatedLog(MemoryLog):
    """A log that is still being written: every question is answered from the lines that there are by then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: tuple[int, Answers] | None = None

    @property
    def events(self) -> tuple[Mapping[str, Any], ...]:
        """The lines so far."""
        return self._answers().events

    def _answers(self) -> Answers:
        size = self.path.stat().st_size if self.path.exists() else 0
        if self._read is None or self._read[0] != size:
            self._read = (size, Answers(read_events(self.path)))
        return self._read[1]
