"""Who used how much of which device, and which processes there were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpumem_simgpu.replay import CONTEXT, Replay


@dataclass(frozen=True)
class MemoryUse:
    """What one library of one process did with one device.

    Attributes:
        device: the number under which the process sees the device.
        bus: the number of the device in the machine.
        pid: the process.
        library: who asked; the rows "context" and "other process" are what these took.
        requests: how many requests there were, refused ones included.
        requested: bytes that were asked for in all of them together.
        first: bytes of the first request.
        peak: most bytes held at one time.
        refused: how many requests were refused.
        refused_bytes: bytes that were asked for in these.

    """

    device: int
    bus: int
    pid: int
    library: str
    requests: int
    requested: int
    first: int
    peak: int
    refused: int
    refused_bytes: int


@dataclass(frozen=True)
class SimulatedProcess:
    """A process that used the devices.

    Attributes:
        pid: its number.
        parent: the number of the process that started it, where the log tells it.
        program: its command line, shortened.
        libraries: the libraries that asked for memory in it, in the order in which they first did.

    """

    pid: int
    parent: int | None = None
    program: str = ""
    libraries: tuple[str, ...] = ()


@dataclass
class _Row:
    requested: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    held: int = 0
    peak: int = 0


def uses(played: Replay) -> tuple[MemoryUse, ...]:
    """Return a row for each device, process and library, devices in bus order, then as they first asked."""
    rows: dict[tuple[int, int, int, str], _Row] = {}
    for one in played.asked:
        asked = one.request
        if asked.library == CONTEXT and not asked.bytes:
            # A context that costs nothing, as where SimulatedGpus says nothing of them, is nobody's use.
            continue
        row = rows.setdefault((one.bus, asked.device, asked.pid, asked.library), _Row())
        row.requested.append(asked.bytes)
        if not asked.granted:
            row.refused.append(asked.bytes)
    for change in played.changes:
        row = rows.get((change.bus, change.device, change.pid, change.library), _Row())
        row.held += change.bytes
        row.peak = max(row.peak, row.held)
    return tuple(
        MemoryUse(
            device=device,
            bus=bus,
            pid=pid,
            library=library,
            requests=len(row.requested),
            requested=sum(row.requested),
            first=row.requested[0],
            peak=row.peak,
            refused=len(row.refused),
            refused_bytes=sum(row.refused),
        )
        for (bus, device, pid, library), row in sorted(rows.items(), key=lambda item: item[0][0])
    )


def processes(events: Iterable[Mapping[str, Any]], played: Replay) -> tuple[SimulatedProcess, ...]:
    """Return the processes of a log, in the order in which they appear."""
    libraries: dict[int, dict[str, None]] = {}
    for one in played.asked:
        if one.counts_as_request:
            libraries.setdefault(one.request.pid, {})[one.request.library] = None
    found: dict[int, SimulatedProcess] = {}
    for event in events:
        pid = event["pid"]
        if event["api"] == "process started":
            used = tuple(libraries.get(pid, ()))
            found[pid] = SimulatedProcess(pid, event.get("ppid"), event.get("program", ""), used)
        elif pid not in found and event["api"] not in ("process ended", "other process"):
            found[pid] = SimulatedProcess(pid, libraries=tuple(libraries.get(pid, ())))
    return tuple(found.values())
