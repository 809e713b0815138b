"""Translates a policy into a plan for TensorFlow. Pure: it reads its arguments and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpumem.plugin import (
    Budget,
    Budgets,
    FrameworkSettings,
    FrameworkState,
    Plan,
    PlanPart,
    Rank,
    RemoveVariable,
    SetVariable,
    Step,
    Strength,
)
from gpumem_tensorflow.describe import NAME
from gpumem_tensorflow.plan_part import start_step
from gpumem_tensorflow.translate_allocator import plan_allocator
from gpumem_tensorflow.translate_limits import keeps_limits, plan_limits
from gpumem_tensorflow.translate_options import plan_options
from gpumem_tensorflow.translate_preallocation import plan_preallocation
from gpumem_tensorflow.translate_visible import budgets_in_use, plan_visible


def make_plan(settings: FrameworkSettings, budgets: Budgets, state: FrameworkState, environ: Mapping[str, str]) -> Plan:
    """Return the plan.

    Variables are set at once. What variables cannot say is set when TensorFlow creates its context, and the
    variables are set again then if somebody changed them: Keras writes ``TF_FORCE_GPU_ALLOW_GROWTH=true`` at
    its import when its backend is another one (keras/src/backend/config.py, 3.15.1), and importing TensorFlow
    imports Keras.
    """
    in_use = budgets_in_use(settings, budgets)
    limited = any(budget.limit is not None for budget in in_use)
    allocator, word = plan_allocator(settings, environ, limited=limited)
    whole = sum(
        (
            keeps_limits(environ, in_use),
            allocator,
            plan_preallocation(in_use, word),
            plan_options(settings, environ, in_use),
            plan_visible(settings, budgets),
            plan_limits(settings, budgets, in_use),
        ),
        PlanPart(),
    )
    steps = (*whole.steps, *_at_start(whole.steps))
    notes = (*whole.notes, *_notes(settings, budgets, state, in_use))
    return Plan(NAME, steps, whole.expectations, whole.not_expressed, notes)


def _at_start(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the step that has the variables as planned at TensorFlow's start and remembers what it read.

    A variable that the user set and that decides (rank NATIVE) is remembered only.
    """
    changes = [step for step in steps if isinstance(step.action, SetVariable | RemoveVariable)]
    if not changes:
        return ()
    variables: dict[str, str | None] = {}
    for step in changes:
        if isinstance(step.action, SetVariable | RemoveVariable) and step.because.rank != Rank.NATIVE:
            variables[step.action.name] = step.action.value if isinstance(step.action, SetVariable) else None
    fields = tuple(dict.fromkeys(field for step in changes for field in step.fields))
    names = ", ".join(variables)
    text = f"the same again for {names} when TensorFlow starts" if variables else "remember what TensorFlow reads"
    because = min(step.because for step in changes)
    return (start_step("variables", {"variables": variables}, text, fields, because, Strength.ADVICE),)


def _notes(
    settings: FrameworkSettings, budgets: Budgets, state: FrameworkState, in_use: Sequence[Budget]
) -> tuple[str, ...]:
    notes = []
    if settings.hidden and any(budget.limit or budget.preallocate for budget in budgets.every()):
        notes.append("TensorFlow is to see no GPU: its limit and its growth are without meaning")
    if any(budget.limit or budget.preallocate for budget in in_use) and not state.versions:
        notes.append("TensorFlow's version is unknown; what holds for 2.18 to 2.21 is assumed")
    return tuple(notes)
