"""The log played back once: who asked for what, and who held how much when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpumem_simgpu.libraries import library_name

# What holds memory of a device and is no library.
CONTEXT = "context"
OTHER_PROCESS = "other process"
# The process of the fault of that name, as NVML lists it; the line is written by the process that it stands before.
OTHER_PID = 4194303

_REQUESTS = frozenset(
    {
        "cuMemAlloc",
        "cuMemAllocPitch",
        "cuMemAllocManaged",
        "cuMemAllocAsync",
        "cuMemAllocFromPoolAsync",
        "cuMemCreate",
    }
)
_FREES = frozenset({"cuMemFree", "cuMemFreeAsync", "cuMemRelease"})


@dataclass(frozen=True)
class Request:
    """One request for device memory.

    ``device`` is the number under which the asking process sees the device, so it follows that process's
    CUDA_VISIBLE_DEVICES.
    """

    api: str
    bytes: int
    granted: bool
    device: int
    library: str
    pid: int


@dataclass(frozen=True, slots=True)
class Change:
    """A process holds more or less of a device.

    Attributes:
        seconds: since the log's first line; never less than that of the change before.
        device: the number under which the process sees the device.
        bus: the number of the device in the machine.
        pid: the process.
        library: who asked; ``context`` and ``other process`` are no libraries.
        bytes: how many more, below zero for less.

    """

    seconds: float
    device: int
    bus: int
    pid: int
    library: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, granted or not, or a context or other process that takes memory."""

    request: Request
    bus: int

    @property
    def counts_as_request(self) -> bool:
        """Whether a library asked for it."""
        return self.request.library not in (CONTEXT, OTHER_PROCESS)


@dataclass(frozen=True)
class Replay:
    """What a log says, in order.

    Attributes:
        asked: everything that asked for memory.
        changes: everything that changed who holds how much.
        seconds: from the first line to the last.

    """

    asked: tuple[Asked, ...]
    changes: tuple[Change, ...]
    seconds: float


def replay(events: Iterable[Mapping[str, Any]]) -> Replay:
    """Play a log back, in one pass."""
    player = _Player()
    changes = [change for event in events for change in player.play(event)]
    return Replay(tuple(player.asked), tuple(changes), player.seconds)


class _Player:
    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.seconds = 0.0
        self._start: float | None = None
        # For each process what it holds, by the identity that the log gives it.
        self._held: dict[int, dict[object, Change]] = {}

    def play(self, event: Mapping[str, Any]) -> Iterator[Change]:
        self._tick(event.get("t"))
        api, pid = event["api"], event["pid"]
        if api == "process ended":
            yield from self._gone(event["gone"])
        elif api == "process started":
            # A number that is used again, or a program that replaced another: the first has nothing any more.
            yield from self._gone(pid)
        elif api in _FREES:
            yield from self._less(pid, event.get("id", 0))
        elif api == "context destroyed":
            yield from self._less(pid, _context_key(event, self._held.get(pid, {})))
        elif api in _REQUESTS:
            yield from self._more(event, library_name(event.get("lib")), event.get("id"))
        elif api == CONTEXT:
            yield from self._more(event, CONTEXT, (CONTEXT, event.get("id", len(self.asked)), event.get("dev")))
        elif api == OTHER_PROCESS:
            yield from self._more(event, OTHER_PROCESS, (OTHER_PROCESS, len(self.asked)))

    def _tick(self, time: float | None) -> None:
        if time is None:
            return
        if self._start is None:
            self._start = time
        # Lines of several processes may be a little out of order.
        self.seconds = max(self.seconds, time - self._start)

    def _more(self, event: Mapping[str, Any], library: str, key: object) -> Iterator[Change]:
        granted, size = event["rc"] == 0, event["bytes"]
        pid = OTHER_PID if library == OTHER_PROCESS else event["pid"]
        device = event.get("dev", -1)
        bus = event.get("phys", device)
        self.asked.append(Asked(Request(event["api"], size, granted, device, library, pid), bus))
        if granted:
            change = Change(self.seconds, device, bus, pid, library, size)
            self._held.setdefault(pid, {})[key] = change
            yield change

    def _less(self, pid: int, key: object) -> Iterator[Change]:
        held = self._held.get(pid, {}).pop(key, None)
        if held is not None:
            yield Change(self.seconds, held.device, held.bus, pid, held.library, -held.bytes)

    def _gone(self, pid: int) -> Iterator[Change]:
        for held in self._held.pop(pid, {}).values():
            yield Change(self.seconds, held.device, held.bus, pid, held.library, -held.bytes)


def _context_key(event: Mapping[str, Any], held: Mapping[object, Change]) -> object:
    """Return which of a process's contexts a line is about: by its identity, else the device's newest."""
    if "id" in event:
        return (CONTEXT, event["id"], event.get("dev"))
    here = [key for key, one in held.items() if one.library == CONTEXT and one.device == event.get("dev")]
    return here[-1] if here else None
