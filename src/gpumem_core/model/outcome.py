"""What became of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a step.

    Attributes:
        status: ``applied``, ``pending`` (takes effect later), ``already`` (in force before), ``late`` (left out),
            ``failed``, or ``undone`` (taken back).
        note: a sentence where one is needed.
    """

    status: Literal["applied", "pending", "already", "late", "failed", "undone"]
    note: str = ""
