"""What a cell shows, held against what gpumem said, what is expected, and the device's log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from matrix.promises import prove
from matrix.promises.cells import MIB
from matrix.promises.expectations import OVERRULED, Otherwise, State, expected, limits_of
from matrix.promises.run_cell import CellRun

FIELDS = {"cap": "limit", "fraction": "limit", "growth": "preallocate"}
MISSING = {"not_expressed", "late", "failed"}
FOLDERS = re.compile(r"/\S+/(?=\w+\.py)")
"""The folders of a program's path, which differ from machine to machine."""
ERRORS: Mapping[str, State] = {"LateInitialisationError": "late", "UnsupportedPolicyError": "refused"}


@dataclass(frozen=True)
class Result:
    """What a cell shows of one framework; sizes in bytes, one per device.

    Attributes:
        state: one of `STATES`.
        missing: the fields that do not hold.
        limits: what was asked for.
        first: the first request.
        peak: the most that was held at one time.
        refused: how many requests beyond the limit were refused, by the allocator itself.
        said: what gpumem said before the first allocation where a part does not hold.
        version: of the framework.
        gpumem: the version of gpumem.
        problems: what contradicts; empty where the cell is proven.
    """

    state: str
    missing: tuple[str, ...]
    limits: tuple[int | None, ...]
    first: tuple[int | None, ...]
    peak: tuple[int, ...]
    refused: int
    said: str
    version: str
    gpumem: str
    problems: tuple[str, ...] = ()


def judge(run: CellRun, framework: str) -> Result:
    """Return what a cell shows of one framework, with everything that contradicts."""
    version = release_of(run, framework)
    expect = expected(run.cell, framework, version)
    devices = range(len(run.cell.promise.limits))
    missing = _missing(run, framework)
    state = _state(run, framework, missing)
    first = [run.run.first_request(device, framework) for device in devices]
    return Result(
        state=state,
        missing=missing,
        limits=run.cell.promise.limits,
        first=tuple(request.bytes if request else None for request in first),
        peak=tuple(run.run.peak(device, framework) for device in devices),
        refused=sum(answer["answer"] != "granted" for answer in run.answers(framework, "beyond")),
        said=FOLDERS.sub("", _said(run, framework, missing)),
        version=version,
        gpumem=run.shown["gpumem"],
        problems=tuple(_problems(run, framework, state, missing, expect)),
    )


def release_of(run: CellRun, framework: str) -> str:
    """Return a framework's version without the name of its build, such as +cu130."""
    return str(run.shown["versions"][framework]).partition("+")[0]


def _missing(run: CellRun, framework: str) -> tuple[str, ...]:
    if _left_out(run, framework):
        return tuple(sorted({FIELDS.get(name, name) for name in run.cell.promise.policy}))
    bad = {FIELDS.get(r["field"], r["field"]) for r in run.rows(framework, "before") if r["state"] in MISSING}
    return tuple(sorted(bad))


def _left_out(run: CellRun, framework: str) -> list[str]:
    """Return the notes on a suggestion that could not be followed."""
    start = f"a suggestion is left out: {framework}"
    return [note for note in run.shown["notes"] if note.startswith(start) and not run.rows(framework)]


def _errors(run: CellRun, framework: str) -> list[tuple[str, str]]:
    """Return the errors that are about a framework: their class and the lines about it."""
    return [(name, text) for name, text in run.shown["errors"] if framework in text]


def _state(run: CellRun, framework: str, missing: tuple[str, ...]) -> State:
    if _left_out(run, framework):
        return "left out"
    late = any(row["state"] == "late" for row in run.rows(framework, "before"))
    for name, _text in _errors(run, framework):
        if ERRORS[name] == "refused" or late:
            return ERRORS[name]
    if missing:
        return "told"
    for device, limit in enumerate(run.cell.promise.limits):
        row = _row(run.rows(framework), "limit", device)
        amount = prove.in_bytes(row["in_force"], prove.total_of(run.cell, device)) if row else None
        if limit and amount and amount < limit - (32 << 20):
            return "less"
    return "holds"


def _row(rows: tuple[Mapping[str, Any], ...], field: str, device: int) -> Mapping[str, Any] | None:
    """Return the report's row on a field: the device's own, else the one for all."""
    mine = [row for row in rows if FIELDS.get(row["field"], row["field"]) == field and row["device"] in (device, None)]
    return next(iter(sorted(mine, key=lambda row: row["device"] is None)), None)


def _said(run: CellRun, framework: str, missing: tuple[str, ...]) -> str:
    """Return the report's reasons before the first allocation, or what it says of less than was asked for."""
    rows = run.rows(framework, "before")
    if notes := _left_out(run, framework):
        return notes[0]
    whys = [row["why"] for row in rows if FIELDS.get(row["field"], row["field"]) in missing]
    if not missing:
        whys = [part for row in rows for part in row["why"].split("; ") if "instead of" in part]
    return "; ".join(dict.fromkeys(why for why in whys if why))


def _problems(run: CellRun, framework: str, state: State, missing: tuple[str, ...], expect: Otherwise) -> Iterator[str]:
    if state != expect.state:
        yield f"is {state!r}, expected {expect.state!r} {expect.because}"
    if unexpected := set(missing) - set(expect.missing):
        yield f"does not hold: {sorted(unexpected)}"
    if state in {"told", "refused", "late"}:
        yield from _was_said(run, framework, state)
    warned = run.shown["warned_later"] + (run.shown["warned"] if state in {"holds", "less"} else [])
    if [text for text in warned if f" {framework}" in text and not text.startswith("GM104")]:
        yield f"warned: {warned}"
    if state == "less" and not _said(run, framework, missing):
        yield "there is less than asked for on a device, and no row says so"
    told = any(text.startswith("GM104") and f" {framework}" in text for text in run.shown["warned"])
    if run.cell.source == "own variables" and _overrules(run, framework) and state != "late" and not told:
        yield "the user's own variable is overruled without a warning"
    yield from _report_is_true(run, framework, missing)


def _overrules(run: CellRun, framework: str) -> bool:
    """Return whether the policy says something about what the user's own variable says."""
    return bool(OVERRULED[framework] & {FIELDS.get(name, name) for name in run.cell.promise.policy})


def _was_said(run: CellRun, framework: str, state: State) -> Iterator[str]:
    """Before the first allocation there was an error with advice, or a warning, and each row has its reason."""
    code = "GM201" if state == "late" else "GM202"
    if not any(text.startswith(f"{code}: {framework}") for text in run.shown["warned"]):
        yield f"no {code} before the first allocation"
    for name, text in _errors(run, framework):
        advice = "CUDA_VISIBLE_DEVICES" if ERRORS[name] == "refused" else "Call gpumem.configure() before"
        if advice not in text or "nothing was changed" not in text:
            yield f"{name} does not say what to do: {text}"
    for row in run.rows(framework, "before"):
        if row["state"] in MISSING and not row["why"]:
            yield f"the row {row['field']} gives no reason"


def _report_is_true(run: CellRun, framework: str, missing: tuple[str, ...]) -> Iterator[str]:
    """Each row of the report in the end is what the log shows."""
    promise, version = run.cell.promise, release_of(run, framework)
    limits = limits_of(run.cell, framework)
    if run.shown["ok"] is not ("late" not in {row["state"] for row in run.shown["rows"]}):
        yield f"the report is {'' if run.shown['ok'] else 'not '}ok"
    for row in run.rows(framework):
        field = FIELDS.get(row["field"], row["field"])
        if field not in missing and row["state"] != "in_force":
            yield f"the row {row['field']} is {row['state']} in the end: {row['why']}"
    if any(promise.limits):
        yield from (prove.breaks_limit if "limit" in missing else _limit_holds)(run, framework)
        if "limit" not in missing:
            yield from prove.grants_what_fits(run, framework, limits)
    if promise.ahead is not None:
        if "preallocate" in missing:
            yield from prove.takes_no_size_ahead(run, framework)
        elif "limit" not in missing:
            yield from prove.proves_ahead(run, framework, limits)
    if not promise.hidden:
        yield from prove.proves_word(run, framework, version, used="allocator" not in missing)
    else:
        yield from (prove.is_visible if "visible" in missing else prove.proves_hidden)(run, framework)


def _limit_holds(run: CellRun, framework: str) -> Iterator[str]:
    """The log shows the limit; what the report has in force is no more than was asked for, nor less than was held."""
    yield from prove.proves_limit(run, framework)
    for device in range(len(run.cell.promise.limits)):
        limit = prove.limit_of(run.cell, framework, device)
        row = _row(run.rows(framework), "limit", device)
        if limit is None or row is None:
            yield f"no row on the limit of device {device}"
            continue
        amount = prove.in_bytes(row["in_force"], prove.total_of(run.cell, device))
        slack = limit - (run.cell.promise.limits[device] or 0)
        if run.cell.moment == "started" and run.cell.promise.allocator:
            slack += MIB  # the first allocation stays in the former pool, beside which the report gives the limit
        if amount is None or not 0 < amount <= limit:
            yield f"in force is {row['in_force']!r} where {limit} bytes are asked for"
        elif run.run.peak(device, framework) > amount + slack:
            yield f"held {run.run.peak(device, framework)} bytes where the report says {amount}"
