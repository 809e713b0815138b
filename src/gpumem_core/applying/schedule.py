"""Whether the moment of a step has passed."""

from __future__ import annotations

from gpumem_core.model.framework import Answer, FrameworkState
from gpumem_core.model.plan import Deadline, Step


def closed(step: Step, state: FrameworkState) -> Answer:
    """Return whether the moment of a step has passed."""
    if step.deadline is Deadline.NEVER or not state.applicable:
        return Answer.NO
    if step.deadline is Deadline.IMPORT:
        return Answer.YES if Answer.YES in (state.imported, state.started) else state.imported
    return state.started
