"""Pieces of a plan, joined by the translation of each field."""

from __future__ import annotations

from collections.abc import Mapping

from gpumem.plugin import (
    Deadline,
    Moment,
    NotExpressed,
    Origin,
    PlanPart,
    Rank,
    RemoveVariable,
    RuntimeCall,
    Scope,
    SetVariable,
    Step,
    Strength,
)
from gpumem_tensorflow.describe import NAME


def refused(field: str, reason: str, origin: Origin, *, device: int | None = None, asked: str = "") -> PlanPart:
    """Return the part that says that a field is not expressed."""
    return PlanPart(not_expressed=(NotExpressed(NAME, field, reason, origin, device, asked),))


def variable_step(
    action: SetVariable | RemoveVariable, fields: tuple[str, ...], because: Origin, strength: Strength, note: str = ""
) -> Step:
    """Return a step that changes a variable. TensorFlow reads it when it creates its GPU devices, not at import.

    The step that `translate` adds for the start sets it again then, but not where the user's own variable decides.
    """
    return Step(
        action=action,
        fields=fields,
        because=because,
        moment=Moment.NOW,
        deadline=Deadline.START,
        scope=Scope.PROCESS,
        strength=strength,
        note=note,
        reasserted=because.rank != Rank.NATIVE,
    )


def start_step(
    name: str,
    arguments: Mapping[str, object],
    text: str,
    fields: tuple[str, ...],
    because: Origin,
    strength: Strength,
    *,
    device: int | None = None,
    scope: Scope = Scope.PROCESS,
    note: str = "",
) -> Step:
    """Return a step that is carried out when TensorFlow creates its context."""
    return Step(
        action=RuntimeCall(name, arguments, text),
        fields=fields,
        because=because,
        moment=Moment.ON_START,
        deadline=Deadline.START,
        scope=scope,
        strength=strength,
        device=device,
        note=note,
    )
