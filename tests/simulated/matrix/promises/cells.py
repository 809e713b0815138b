"""The cells of the support matrix as data: what is declared, when, where, and by which source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Literal

MIB, GIB = 1 << 20, 1 << 30
FRAMEWORKS = ("jax", "tensorflow", "torch", "cupy")

LIMIT = 2 * GIB
"""The limit of nearly every cell, in bytes: an eighth of the device."""

ODD = 1234567891
"""A limit, in bytes, that is a multiple of nothing the frameworks count in."""

ONE = "1x16GiB"

Moment = Literal["before", "imported", "discovered", "started"]
Source = Literal["arguments", "variables", "pyproject", "prefer", "own variables", "own allocator", "device override"]

MOMENTS: Mapping[Moment, str] = {
    "before": "before the import",
    "imported": "after the import",
    "discovered": "after the framework has looked for GPUs",
    "started": "after the first allocation",
}

SOURCES: Mapping[Source, str] = {
    "arguments": "configure()",
    "variables": "GPUMEM_* variables",
    "pyproject": "pyproject.toml",
    "prefer": "prefer(), by a library",
    "own variables": "configure(), against the user's own variables",
    "own allocator": "configure(), against an allocator of the user's own that holds no limit",
    "device override": "configure(devices=...), against a looser policy for all",
}


@dataclass(frozen=True)
class Promise:
    """One row of the table.

    Attributes:
        name: for people, as the table has it.
        policy: the fields of `configure()`; `hidden` stands for hiding the framework.
        devices: the simulated devices.
        limits: the limit that follows for each device, in bytes; None for no limit.
        ahead: what is to be taken ahead: all of the limit, bytes, nothing (False) or as the framework likes (None).
        allocator: the allocator word of the policy.
    """

    name: str
    policy: Mapping[str, object]
    devices: str = ONE
    limits: tuple[int | None, ...] = (LIMIT,)
    ahead: bool | int | None = None
    allocator: str | None = None

    @property
    def hidden(self) -> bool:
        """Whether the framework is hidden from its GPUs."""
        return "hidden" in self.policy


def _word(word: str) -> Promise:
    return Promise(f"allocator={word}, with a cap", {"cap": LIMIT, "allocator": word}, allocator=word)


CAP_AND_GROWTH = Promise("cap and growth", {"cap": LIMIT, "growth": True}, ahead=False)
FRACTION_AHEAD = Promise("fraction and preallocate", {"fraction": 0.125, "preallocate": True}, ahead=True)
ASYNC = _word("async")
THREE = (CAP_AND_GROWTH, FRACTION_AHEAD, ASYNC)
"""The policies that are declared at every moment and by every source."""

PROMISES = (
    Promise("cap", {"cap": LIMIT}),
    Promise("cap of an odd number of bytes", {"cap": ODD}, limits=(ODD,)),
    Promise("fraction", {"fraction": 0.125}),
    Promise("fraction of no whole blocks", {"fraction": 0.3}, limits=(int(0.3 * 16 * GIB),)),
    Promise("preallocate, with a cap", {"cap": LIMIT, "preallocate": True}, ahead=True),
    Promise("preallocate=a size, with a cap", {"cap": LIMIT, "preallocate": 512 * MIB}, ahead=512 * MIB),
    Promise("growth", {"growth": True}, limits=(None,), ahead=False),
    CAP_AND_GROWTH,
    FRACTION_AHEAD,
    _word("default"),
    _word("pool"),
    ASYNC,
    _word("direct"),
    _word("vmm"),
    _word("managed"),
    Promise("hidden", {"hidden": True}, limits=(None,)),
    Promise("cap, on unequal devices", {"cap": LIMIT, "growth": True}, "8GiB,16GiB", (LIMIT, LIMIT), False),
    Promise(
        "fraction, on unequal devices", {"fraction": 0.25, "growth": True}, "8GiB,16GiB", (LIMIT, 2 * LIMIT), False
    ),
)


@dataclass(frozen=True)
class Cell:
    """One program: a promise to one framework or to several in one process, at a moment, by a source."""

    promise: Promise
    frameworks: tuple[str, ...]
    moment: Moment = "before"
    source: Source = "arguments"

    @property
    def name(self) -> str:
        """Its name in results and on the command line."""
        parts = (self.promise.name, self.moment, self.source, "+".join(self.frameworks))
        return "/".join(parts)


def row(promise: Promise, moment: Moment = "before", source: Source = "arguments") -> tuple[Cell, ...]:
    """Return the cells of one row, one per framework."""
    return tuple(Cell(promise, (name,), moment, source) for name in FRAMEWORKS)


LATER: tuple[Moment, ...] = ("imported", "discovered", "started")
OTHERS: tuple[Source, ...] = ("variables", "pyproject", "prefer", "own variables", "device override")

BEFORE_THE_IMPORT = {promise.name: row(promise) for promise in PROMISES}

OTHER_MOMENTS = {f"{promise.name}, {moment}": row(promise, moment) for promise in THREE for moment in LATER}

OTHER_SOURCES = {f"{one.name}, by {source}": row(one, "before", source) for one in THREE for source in OTHERS} | {
    "cap, by own allocator": row(PROMISES[0], "before", "own allocator")
}

CROSS_PRODUCT = {
    f"{promise.name}, {moment}, by {source}": row(promise, moment, source)
    for promise in THREE
    for moment in LATER
    for source in OTHERS
}
"""Moments times sources; with the rows above every pair is there. Too many for every change: marked exhaustive."""

EVERY_ROW_LATER = {
    f"{promise.name}, {moment}": row(promise, moment)
    for promise in PROMISES
    if promise not in THREE
    for moment in LATER
}

TOGETHER = {
    "+".join(names): (Cell(CAP_AND_GROWTH, names),)
    for names in (*combinations(FRAMEWORKS, 2), FRAMEWORKS, FRAMEWORKS[::-1])
}

EVERY_ORDER = {
    "+".join(names): (Cell(CAP_AND_GROWTH, names),)
    for count in (2, 3)
    for names in permutations(FRAMEWORKS, count)
    if "+".join(names) not in TOGETHER
}
