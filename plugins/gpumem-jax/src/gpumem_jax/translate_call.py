"""The call that puts options of JAX's GPU client in force where variables would not, or not well enough.

It is needed in three situations:

- A limit needs the device's total: it is calculated again with the driver's own totals when JAX starts, which may
  differ from NVML's, or be the only ones there are.
- JAX has discovered its backends (and so read its variables) but made no GPU client yet.
- The user set an option in a way that beats the variables (`jax_pjrt_client_create_options`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpumem.plugin import Budget, Deadline, Moment, RuntimeCall, Scope, SetVariable, Step, Strength
from gpumem_jax.fraction import as_text
from gpumem_jax.limit_figures import LimitFigures
from gpumem_jax.plan_part import Part, Situation
from gpumem_jax.translate_limit import limit_in_bytes

_FIELD_OF = {"memory_fraction": "limit", "preallocate": "preallocate", "allocator": "allocator"}


def with_client_options(situation: Situation, figures: LimitFigures | None, part: Part, *, above_one: bool) -> Part:
    """Add the call to a plan's part where it is needed."""
    if situation.started:
        return part
    refused = any(item.field == "limit" for item in part.not_expressed)
    converts = figures is not None and not figures.pure and not refused
    recalculates = converts and not situation.driver_runs
    beaten = situation.overlay & part.options.keys()
    stepped = {field for step in part.steps for field in step.fields}
    asked = any(_FIELD_OF.get(name, f"options.{name}") in stepped for name in part.options)
    if not (recalculates or (beaten and asked) or (situation.frozen and asked)):
        return part
    limits = _limits(situation, figures) if figures is not None and converts else {}
    arguments: dict[str, object] = {
        "options": dict(part.options),
        "limits": limits,
        "visible": _visible(situation),
        "written": {step.action.name: step.action.value for step in part.steps if isinstance(step.action, SetVariable)},
        "above_one": above_one,
        "limit_in_bytes": limit_in_bytes(figures),
    }
    step = _step(situation, figures, part, arguments, recalculates=recalculates, beaten=bool(beaten))
    others = tuple(_reasserted(other) for other in part.steps)
    return Part((*others, step), part.expectations, part.not_expressed, part.notes, part.options)


def _step(
    situation: Situation,
    figures: LimitFigures | None,
    part: Part,
    arguments: Mapping[str, object],
    *,
    recalculates: bool,
    beaten: bool,
) -> Step:
    # Where variables are in time, the call only sharpens the limit; else it expresses every field it can.
    only_limit = recalculates and not situation.frozen and not beaten
    names = ["memory_fraction"] if only_limit else [name for name in part.options if name in _FIELD_OF]
    asked = {field for step in part.steps for field in step.fields} | ({"limit"} if figures else set())
    kept = tuple(field for name in names if (field := _FIELD_OF[name]) in asked) or ("limit",)
    origins = [step.because for step in part.steps if set(step.fields) & set(kept)]
    origins += [figures.origin] if figures is not None else []
    shown = [f"{name}={part.options[name]}" for name in names if name in part.options and name != "memory_fraction"]
    note = ""
    if recalculates:
        shown.append("memory_fraction from the driver's totals")
        note = "calculated again with the driver's own totals when JAX starts"
    elif "memory_fraction" in part.options:
        shown.append(f"memory_fraction={as_text(float(str(part.options['memory_fraction'])))}")
    text = f"JAX's client options: {', '.join(shown)}"
    return Step(
        action=RuntimeCall("client_options", arguments, text),
        fields=kept,
        because=min(origins, key=lambda origin: origin.rank),
        moment=Moment.ON_IMPORT if situation.frozen else Moment.ON_START,
        deadline=Deadline.START,
        scope=Scope.PROCESS,
        strength=Strength.HARD,
        note=note,
    )


def _reasserted(step: Step) -> Step:
    """Mark a step whose variable may be changed by somebody else meanwhile: the call sets its option again."""
    return replace(step, reasserted=set(step.fields) <= set(_FIELD_OF.values()))


def _limits(situation: Situation, figures: LimitFigures) -> dict[str, object]:
    """Return the limits by ordinal (``others`` for devices not listed) as plain values."""
    found: dict[str, object] = {}
    for budget in situation.seen:
        name = "others" if budget.ordinal is None else str(budget.ordinal)
        found[name] = _plain(budget) if budget in figures.limited else None
    return found


def _plain(budget: Budget) -> dict[str, object]:
    assert budget.limit is not None
    return {
        "bounds": [[bound.share, bound.amount] for bound in budget.limit.bounds],
        # What the report promised is not exceeded, even if the driver's total turns out to be larger.
        "most": budget.limit_bytes,
    }


def _visible(situation: Situation) -> list[int] | None:
    visible = situation.settings.visible.value if situation.settings.visible else "all"
    return list(visible) if isinstance(visible, tuple) else None
