"""What a program did on simulated devices, in the shape in which it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from gpumem_tools.chart.history import History, Series

if TYPE_CHECKING:
    from gpumem_simgpu import SimulatedRun
    from gpumem_tools.simulated import Simulator

SCHEMA: Final = 1
NO_LIBRARY: Final = frozenset({"context", "other process"})
"""Holders that the log names although they are no library."""


@dataclass(frozen=True, slots=True)
class Use:
    """What one library of one process did with a device; amounts in bytes.

    Attributes:
        pid: the process.
        library: who asked.
        requests: how many requests there were, refused ones included.
        requested: what was asked for in all of them together.
        first: the first request.
        peak: the most that was held at one time.
        refused: the size of each request that was refused, in order.
    """

    pid: int
    library: str
    requests: int
    requested: int
    first: int
    peak: int
    refused: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Process:
    """A process that used the devices.

    Attributes:
        pid: its number.
        parent: the number of the process that started it, None where that is unknown.
        program: its command line, shortened.
    """

    pid: int
    parent: int | None
    program: str


@dataclass(frozen=True, slots=True)
class Device:
    """One simulated device.

    Attributes:
        number: its number on the bus.
        name: its name.
        total: bytes that it has.
        peak: most bytes held at one time by all.
        uses: who did what.
        history: who held how much when.
    """

    number: int
    name: str
    total: int
    peak: int
    uses: tuple[Use, ...]
    history: History


@dataclass(frozen=True, slots=True)
class Observed:
    """A finished program.

    Attributes:
        command: what was run.
        returncode: its exit code, as a shell has it.
        processes: the processes that used the devices.
        devices: the devices.
    """

    command: tuple[str, ...]
    returncode: int
    processes: tuple[Process, ...]
    devices: tuple[Device, ...]

    @property
    def refused(self) -> int:
        """How many requests were refused."""
        return sum(len(use.refused) for device in self.devices for use in device.uses)

    @property
    def touched(self) -> tuple[Device, ...]:
        """The devices that were asked for memory."""
        return tuple(device for device in self.devices if device.uses)

    def to_dict(self) -> dict[str, object]:
        """Return plain values; amounts are bytes."""
        return {
            "schema": SCHEMA,
            "simulated": True,
            "command": list(self.command),
            "returncode": self.returncode,
            "processes": [asdict(process) for process in self.processes],
            "devices": [_device_dict(device) for device in self.devices],
        }


def _device_dict(device: Device) -> dict[str, object]:
    history = device.history
    return {
        "device": device.number,
        "name": device.name,
        "total": device.total,
        "peak": device.peak,
        "uses": [asdict(use) for use in device.uses],
        "seconds": history.seconds,
        "held": {one.label: [list(point) for point in one.points] for one in history.series},
        "refused_at": list(history.refusals),
    }


def observe(command: Sequence[str], returncode: int, run: SimulatedRun, simulator: Simulator) -> Observed:
    """Return what a run did."""
    processes = tuple(Process(one.pid, one.parent, one.program) for one in run.processes)
    devices = tuple(
        _device(run, number, name, total)
        for number, (name, total) in enumerate(zip(simulator.names, simulator.totals, strict=True))
    )
    return Observed(tuple(command), returncode, processes, devices)


def _device(run: SimulatedRun, number: int, name: str, total: int) -> Device:
    rows = [row for row in run.use() if row.bus == number and (row.peak or row.requested)]
    uses = tuple(
        Use(
            row.pid,
            row.library,
            0 if row.library in NO_LIBRARY else row.requests,
            row.requested,
            row.first,
            row.peak,
            tuple(one.bytes for one in run.refused(row.device, row.library, row.pid)),
        )
        for row in rows
    )
    # Where several processes use a device, each of their libraries has a colour of its own.
    pids = dict.fromkeys(row.pid for row in rows)
    series = [
        Series(
            f"{row.library} in {row.pid}" if len(pids) > 1 else row.library, run.timeline(number, row.library, row.pid)
        )
        for pid in pids
        for row in rows
        if row.pid == pid
    ]
    everybody = run.timeline(number)
    history = History(
        total,
        max((seconds for seconds, _held in everybody), default=0.0),
        tuple(one for one in series if one.peak),
        tuple(_refusals(run.events, number)),
    )
    return Device(number, name, total, max((held for _seconds, held in everybody), default=0), uses, history)


def _refusals(events: Iterable[Mapping[str, Any]], number: int) -> Iterable[float]:
    """Yield when requests were refused, in seconds since the log's first line."""
    start: float | None = None
    for event in events:
        moment = event.get("t")
        if moment is None:
            continue
        start = moment if start is None else start
        if event.get("rc") and event.get("bytes") and event.get("phys") == number:
            yield max(0.0, moment - start)
