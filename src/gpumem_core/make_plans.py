"""One plan per framework, and everything that must be known about all of them before the first change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeGuard

from gpumem_core.applying.first_importer import first_importer
from gpumem_core.applying.schedule import closed
from gpumem_core.errors import PolicyConflictError
from gpumem_core.model.budget import Budget
from gpumem_core.model.framework import Answer, Observation
from gpumem_core.model.framework_decision import FrameworkDecision
from gpumem_core.model.late import LateStep
from gpumem_core.model.origin import Origin
from gpumem_core.model.plan import (
    Comparison,
    Deadline,
    Expectation,
    NotExpressed,
    Plan,
    RemoveVariable,
    RuntimeCall,
    SetVariable,
    Step,
)
from gpumem_core.sizes import exact, human

_ROUNDING: Final = 0.002
"""A limit that is smaller by no more than this is the asked one, rounded down to what the framework can keep."""


def check_conflicts(plans: Iterable[Plan]) -> None:
    """Refuse plans that set one variable differently.

    Raises:
        PolicyConflictError: naming the variable, both frameworks and both origins.
    """
    seen: dict[str, tuple[str, Step]] = {}
    for plan in plans:
        for step in plan.steps:
            if not isinstance(step.action, SetVariable | RemoveVariable):
                continue
            first = seen.setdefault(step.action.name, (plan.framework, step))
            if first[1].action != step.action and first[0] != plan.framework:
                message = (
                    f"two frameworks share the variable {step.action.name} and need it differently: "
                    f"{first[0]} {first[1].action} ({first[1].because}), {plan.framework} {step.action} "
                    f"({step.because}); nothing was changed. Give both the same setting, or run them in two processes"
                )
                raise PolicyConflictError(message)


def compare(expectation: Expectation, observation: Observation) -> bool:
    """Return whether an observed value is what was expected; a limit holds if it is above 0 and not above."""
    expected, seen = expectation.value, observation.value
    if _is_number(expected) and _is_number(seen):
        slack = abs(expected) * expectation.tolerance
        if expectation.comparison is Comparison.LIMIT:
            return 0 < seen <= expected + slack
        return abs(seen - expected) <= slack
    return bool(expected == seen)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def already_so(step: Step, plan: Plan, observations: Sequence[Observation]) -> bool:
    """Return whether everything a step sets is in force already. Unknown is never already so."""
    expectations = [
        e
        for e in plan.expectations
        if step.device in (None, e.device) and any(s is step for _position, s in plan.deciding(e.field, e.device))
    ]
    if not expectations or {e.field for e in expectations} != set(step.fields):
        return False
    for expectation in expectations:
        found = [o for o in observations if (o.field, o.device) == (expectation.field, expectation.device)]
        if not found or found[0].value is None or not compare(expectation, found[0]):
            return False
        # A tighter limit than asked holds the promise but is another one: the user must hear of it.
        if expectation.comparison is Comparison.LIMIT and not _near(expectation.value, found[0].value):
            return False
    return True


def _near(expected: object, seen: object) -> bool:
    if _is_number(expected) and _is_number(seen):
        return abs(seen - expected) <= _ROUNDING * abs(expected)
    return bool(expected == seen)


def late_positions(decision: FrameworkDecision) -> tuple[int, ...]:
    """Return the positions of the steps that would come too late and are not in force already."""
    return tuple(
        position
        for position, step in enumerate(decision.plan.steps)
        if closed(step, decision.state) is Answer.YES
        and not already_so(step, decision.plan, decision.state.observations)
    )


def dropped_steps(before: FrameworkDecision, after: FrameworkDecision, done: frozenset[int]) -> tuple[LateStep, ...]:
    """Return the settings of an earlier plan that the later one lacks and that cannot be taken back any more.

    Args:
        before: the decision that is in force.
        after: the later one, whose state is the present one.
        done: the positions of the steps of the earlier plan that were carried out.
    """
    kept = {step.action for step in after.plan.steps if not isinstance(step.action, RuntimeCall)}
    replaced = {(field, step.device) for step in after.plan.steps for field in step.fields}
    found = []
    for position, step in enumerate(before.plan.steps):
        again = step in after.plan.steps or (not isinstance(step.action, RuntimeCall) and step.action in kept)
        succeeded = any((field, device) in replaced for field in step.fields for device in {step.device, None})
        if again or succeeded or position not in done or closed(step, after.state) is not Answer.YES:
            continue
        late = late_step(replace(before, state=after.state), position)
        found.append(replace(late, asked=f"to take back {late.asked}"))
    return tuple(found)


def late_step(decision: FrameworkDecision, position: int) -> LateStep:
    """Return the full description of a step that comes too late."""
    step = decision.plan.steps[position]
    asked = ", ".join(_asked(decision, field, step) for field in step.fields)
    seen = [o for o in decision.state.observations if o.field in step.fields and step.device in (None, o.device)]
    units = {(e.field, e.device): e.unit for e in decision.plan.expectations}
    in_force = ", ".join(_in_force(o, units.get((o.field, o.device), "")) for o in seen) or "unknown"
    passed = "the framework is imported" if step.deadline is Deadline.IMPORT else "the framework has started"
    remedy = (
        f"Call gpumem.configure() before {decision.name} is "
        f"{'imported' if step.deadline is Deadline.IMPORT else 'first used'} (best as the first line of the entry "
        "point), or restart the process or kernel with the new policy, or set on_late to "
        '"warn" to go on without this setting'
    )
    return LateStep(
        decision.name,
        step.fields,
        f"{asked} by {step.action}",
        in_force,
        step.because,
        passed,
        decision.state.evidence or "as its modules say",
        first_importer(decision.name),
        remedy,
    )


def _asked(decision: FrameworkDecision, field: str, step: Step) -> str:
    return asked_text(decision, field, step.device) or field


def _in_force(observation: Observation, unit: str) -> str:
    device = "" if observation.device is None else f" on device {observation.device}"
    if observation.value is None:
        return f"{observation.field}{device} unknown ({observation.why})"
    value = f"{observation.value} {unit}".strip()
    if observation.field == "limit" and isinstance(observation.value, float):
        value = f"{observation.value:.6g} of the total"
    if unit == "bytes" and isinstance(observation.value, int):
        value = f"{human(observation.value)} ({value})"
    return f"{observation.field} {value}{device} ({observation.source})"


def _budgets_for(decision: FrameworkDecision, field: str, device: int | None) -> list[Budget]:
    """Return the budgets that a row is about: a device's, or those of all devices without a row of their own."""
    if device is not None:
        return [decision.budgets.of(device)]
    apart = decision.plan.apart(field)
    return [budget for budget in decision.budgets.every() if budget.ordinal not in apart]


def asked_text(decision: FrameworkDecision, field: str, device: int | None) -> str:
    """Return what was asked for a field, as declared, such as ``cap=8GiB``; empty if nothing was."""
    settings = decision.settings
    if field == "allocator" and settings.allocator:
        return f"allocator={settings.allocator.value}"
    if field == "visible" and settings.visible:
        return f"visible={settings.visible.value}"
    if field.startswith("options."):
        option = settings.options.get(field.removeprefix("options."))
        return f"{field}={option.value}" if option else field
    chosen = _budgets_for(decision, field, device)
    if field == "limit":
        texts = [budget.limit.asked for budget in chosen if budget.limit]
        return " / ".join(dict.fromkeys(texts)) or ("cap=none" if any(b.unlimited for b in chosen) else "")
    if field == "preallocate":
        shown = [
            b.preallocate.asked or (str(a).lower() if isinstance(a := b.preallocate.amount, bool) else exact(a))
            for b in chosen
            if b.preallocate
        ]
        return " / ".join(f"preallocate={text}" for text in dict.fromkeys(shown))
    return ""


def origin_of(decision: FrameworkDecision, field: str, device: int | None) -> Origin | None:
    """Return where a field was declared, None where nobody declared it."""
    settings = decision.settings
    if field == "allocator":
        return settings.allocator.origin if settings.allocator else None
    if field == "visible":
        return settings.visible.origin if settings.visible else None
    if field.startswith("options."):
        option = settings.options.get(field.removeprefix("options."))
        return option.origin if option else None
    chosen = _budgets_for(decision, field, device)
    if field == "limit":
        found = [b.limit.origin if b.limit else b.unlimited_because for b in chosen]
    else:
        found = [b.preallocate.origin if b.preallocate else None for b in chosen]
    return min((origin for origin in found if origin), key=lambda origin: origin.rank, default=None)


def not_held(decision: FrameworkDecision, reaction: str, imported_or_named: bool) -> tuple[NotExpressed, ...]:
    """Return the fields that a plan does not express and whose reaction is `reaction`.

    What would be an error for a framework that is neither imported nor named is only a row of the report.
    """
    if not decision.state.applicable or not decision.installed:
        return ()
    found = []
    for item in decision.plan.not_expressed:
        field = "options" if item.field.startswith("options.") else item.field
        wanted = decision.settings.reaction_to_unsupported(field)
        if item.waits:
            continue
        if wanted == reaction and (wanted != "error" or imported_or_named):
            found.append(item)
    return tuple(found)


def with_missing(plan: Plan, missing: Sequence[NotExpressed]) -> Plan:
    """Add what the core itself could not calculate to a plan."""
    return replace(plan, not_expressed=(*plan.not_expressed, *missing)) if missing else plan
