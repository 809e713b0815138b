"""The log as a file: one JSON object a line, written by every process on the devices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpumem_simgpu.errors import SimulationError

Event = Mapping[str, Any]


def read_events(log: Path) -> tuple[Event, ...]:
    """Return the lines of a log in order; a program that never touched the device leaves no log.

    A last line without its end is left out: a process was killed while it wrote, or is writing now.

    Raises:
        SimulationError: another line cannot be read; what follows from the log would be wrong.

    """
    try:
        data = log.read_bytes()
    except FileNotFoundError:
        return ()
    # Not splitlines: names of files may hold what Unicode takes for the end of a line.
    lines = data.decode(errors="replace").split("\n")
    lines.pop()
    return tuple(_all_at_once(lines) or _one_by_one(lines, log))


def _all_at_once(lines: list[str]) -> list[Event] | None:
    """Return all lines, or None; keys are made once for all of them, which matters for long logs."""
    try:
        found = json.loads(f"[{','.join(lines)}]")
    except ValueError:
        return None
    whole = len(found) == len(lines) and all(isinstance(one, dict) for one in found)
    return found if whole else None


def _one_by_one(lines: list[str], log: Path) -> list[Event]:
    events: list[Event] = []
    for number, line in enumerate(lines, start=1):
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            message = f"{log}:{number}: this line of the log is no JSON object, so nothing can be said about the memory"
            raise SimulationError(message)
        events.append(event)
    return events
