"""What a program asked of the simulated devices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpumem_simgpu.libraries import library_name

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


@dataclass(frozen=True)
class SimulatedRun:
    """A finished program: its exit, what it printed, and every line of the device's log, in order."""

    returncode: int
    stdout: str
    stderr: str
    events: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    def requests(self, device: int = 0, library: str | None = None) -> tuple[Request, ...]:
        """Return every request for memory of a device, in order, of one library or of all.

        A request to a stream-ordered pool (cuMemAllocAsync) counts as the program made it, also when the pool
        serves it from memory that it kept.
        """
        asked = (_request(event) for event in self.events if event["api"] in _REQUESTS)
        return tuple(one for one in asked if one.device == device and (library is None or one.library == library))

    def first_request(self, device: int = 0, library: str | None = None) -> Request | None:
        """Return the first request, or None when nothing was asked for."""
        return next(iter(self.requests(device, library)), None)

    def refused(self, device: int = 0, library: str | None = None) -> tuple[Request, ...]:
        """Return the requests that the device had no room for."""
        return tuple(one for one in self.requests(device, library) if not one.granted)

    def peak(self, device: int = 0, library: str | None = None) -> int:
        """Return the most bytes ever held at one time on a device, by one library or by all.

        An allocation belongs to the library that asked for it, whoever frees it. Contexts
        (``SimulatedGpus(context=...)``) belong to the process: they count for the device, for no library.
        A process that ends gives back all it held.
        """
        held: dict[tuple[int, int | str], int] = {}
        now = most = 0
        for event in self.events:
            pid, api = event["pid"], event["api"]
            if api == "process ended":
                gone = [key for key in held if key[0] == event["gone"]]
                now -= sum(held.pop(key) for key in gone)
            elif api in _FREES:
                now -= held.pop((pid, event.get("id", 0)), 0)
            elif event.get("dev") != device or event["rc"]:
                continue
            elif api in _REQUESTS and library in (None, library_name(event.get("lib"))):
                held[pid, event["id"]] = event["bytes"]
                now += event["bytes"]
            elif api == "context" and library is None:
                held[pid, "context"] = event["bytes"]
                now += event["bytes"]
            most = max(most, now)
        return most


def _request(event: Mapping[str, Any]) -> Request:
    return Request(
        api=event["api"],
        bytes=event["bytes"],
        granted=event["rc"] == 0,
        device=event.get("dev", -1),
        library=library_name(event.get("lib")),
        pid=event["pid"],
    )


def read_events(log: Path) -> tuple[Mapping[str, Any], ...]:
    """Return the lines of a log; a program that never touched the device leaves none."""
    if not log.exists():
        return ()
    return tuple(json.loads(line) for line in log.read_text().splitlines())
