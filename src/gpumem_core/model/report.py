"""The report: flat rows on what was asked, set and is in force."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpumem_core.sizes import MIB, human

Status = Literal[
    "in_force",
    "pending",
    "differs",
    "exceeded",
    "failed",
    "not_expressed",
    "unknown",
    "not_applicable",
    "planned",
    "late",
]
BAD: frozenset[str] = frozenset({"differs", "exceeded", "failed", "late"})
"""The states in which the policy does not hold although it could."""

SCHEMA = 1


def for_people(value: object) -> str:
    """Return a value as people read it: amounts from 1 MiB on with their unit, truth values as they are written."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value >= MIB:
        return human(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Row:
    """One setting of one framework on one device.

    Attributes:
        framework: the framework.
        device: the ordinal, None for the whole process or all devices.
        field: the policy field.
        asked: the value as declared.
        set: what was or will be set, in the framework's own terms; None for nothing.
        in_force: what the framework reports; None where it cannot be known yet.
        state: the verdict.
        origin: where the value was declared.
        scope: for what it holds.
        strength: how well it holds.
        why: a sentence where the verdict needs one.
    """

    framework: str
    device: int | None
    field: str
    asked: object
    set: str | None
    in_force: object
    state: Status
    origin: str
    scope: str | None = None
    strength: str | None = None
    why: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return the row as plain values."""
        return {name: getattr(self, name) for name in self.__slots__}

    def sentence(self) -> str:
        """Return the row as one line for people."""
        device = "" if self.device is None else f" device {self.device}"
        text = f"{self.framework}{device}: {self.field} asked {self.asked} ({self.origin}): {self.state}"
        if self.in_force is not None:
            text += f", in force {for_people(self.in_force)}"
        return f"{text}; {self.why}" if self.why else text


@dataclass(frozen=True, slots=True)
class Report:
    """What was asked, set and is in force, for every framework.

    Attributes:
        policy: the declared settings by dotted key, each with `value` and `origin`.
        devices: the devices as known.
        rows: one per framework, device and field.
        notes: remarks, such as which file was used.
    """

    policy: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    devices: tuple[Mapping[str, object], ...] = ()
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is known to be other than asked."""
        return not any(row.state in BAD for row in self.rows)

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain values; amounts of memory are in bytes."""
        return {
            "schema": SCHEMA,
            "policy": {key: dict(value) for key, value in self.policy.items()},
            "devices": [dict(device) for device in self.devices],
            "ok": self.ok,
            "rows": [row.to_dict() for row in self.rows],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return `to_dict` as indented JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def rows_of(self, framework: str, field_name: str | None = None) -> tuple[Row, ...]:
        """Return the rows of a framework, of one field where given."""
        return tuple(row for row in self.rows if row.framework == framework and field_name in (None, row.field))

    def __str__(self) -> str:
        """Return the report as text."""
        from gpumem_core.render_report import render

        return render(self)
