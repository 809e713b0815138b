"""One setting that comes too late."""

from __future__ import annotations

from dataclasses import dataclass

from gpumem_core.model.origin import Origin


@dataclass(frozen=True, slots=True)
class LateStep:
    """A setting whose moment has passed.

    Attributes:
        framework: the framework.
        fields: the policy fields.
        asked: what was asked, in words.
        in_force: what is in force instead, in words.
        origin: where the setting was declared.
        passed: which moment has passed, in words.
        evidence: how that is known.
        first: who imported the framework first, in words; empty where unknown.
        remedy: what to do.
    """

    framework: str
    fields: tuple[str, ...]
    asked: str
    in_force: str
    origin: Origin
    passed: str
    evidence: str
    first: str
    remedy: str

    def __str__(self) -> str:
        """Return what comes too late, how that is known and what is in force; `first` and `remedy` stand apart."""
        text = f"{self.framework}: {self.asked} ({self.origin}): {self.passed} ({self.evidence})"
        text += f"; in force is {self.in_force}"
        return text
