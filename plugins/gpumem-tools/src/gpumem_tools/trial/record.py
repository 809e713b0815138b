"""What became of a trial, from the lines that its processes wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Taken:
    """What one framework did in one process.

    Attributes:
        framework: its name.
        process: the number of the process in its trial, from 0.
        pid: the number that the system gave it.
        limit: bytes that the policy lets it hold, None for no limit.
        hidden: whether the policy hides all GPUs from it.
        told: its rows of the report before its first allocation.
        rows: its rows after the last one.
        granted: bytes of each block that it was granted.
        first_taken: bytes that left the device at the first block, None where nobody tells.
        refused: bytes of the block that was refused, 0 for none.
        error: what the refusal said, empty for none.
        out_of_memory: whether that is one of the errors that mean "no room".
        held: bytes that its allocator says that it holds, None where it does not.
        free: bytes free on the device when its turn was over, None where nobody tells.
        over: whether it got through its turn.
    """

    framework: str
    process: int
    pid: int
    limit: int | None = None
    hidden: bool = False
    told: tuple[Row, ...] = ()
    rows: tuple[Row, ...] = ()
    granted: tuple[int, ...] = ()
    first_taken: int | None = None
    refused: int = 0
    error: str = ""
    out_of_memory: bool = False
    held: int | None = None
    free: int | None = None
    over: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """What became of a trial.

    Attributes:
        taken: one entry for each turn that began, in order.
        policy_refused: why gpumem refused the policy: the error's class and its text; empty where it did not.
    """

    taken: tuple[Taken, ...] = ()
    policy_refused: tuple[str, str] | None = None


@dataclass(slots=True)
class _Turn:
    """A turn while its lines are read."""

    values: dict[str, Any] = field(default_factory=dict)
    granted: list[int] = field(default_factory=list)


def read_record(path: Path) -> Record:
    """Return what stands in a file of `Recorder`; a process that never came so far left none."""
    if not path.exists():
        return Record()
    return record_of(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def record_of(events: Iterable[Mapping[str, Any]]) -> Record:
    """Return the record of a trial's events."""
    asked: dict[tuple[int, str], dict[str, Any]] = {}
    turns: dict[tuple[int, str], _Turn] = {}
    refused: tuple[str, str] | None = None
    for event in events:
        name, process = event["event"], event["process"]
        if name == "policy refused":
            refused = event["kind"], event["text"]
        if "framework" not in event:
            continue
        key = (process, event["framework"])
        if name == "asked":
            asked[key] = {"limit": event["limit"], "hidden": event["hidden"], "told": tuple(event["rows"])}
            continue
        turn = turns.setdefault(key, _Turn({"pid": event["pid"]}))
        if name == "granted":
            if not turn.granted:
                turn.values["first_taken"] = event["taken"]
            turn.granted.append(event["bytes"])
        elif name == "refused":
            turn.values |= {"refused": event["bytes"], "error": event["error"], "out_of_memory": event["known"]}
        elif name == "turn over":
            over = {"held": event["held"], "free": event["free"], "rows": tuple(event["rows"]), "over": True}
            turn.values |= over
    # A process that died before its first block leaves what was asked.
    for key, values in asked.items():
        if key in turns:
            turns[key].values |= values
    taken = tuple(
        Taken(framework, process, granted=tuple(turn.granted), **turn.values)
        for (process, framework), turn in turns.items()
    )
    return Record(taken, refused)
