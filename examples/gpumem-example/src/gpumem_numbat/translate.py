"""From the policy to numbat's variables. Pure: nothing is read or changed."""

from __future__ import annotations

from gpumem.plugin import (
    Budgets,
    Comparison,
    Deadline,
    Expectation,
    FrameworkSettings,
    Moment,
    NotExpressed,
    Origin,
    Plan,
    Rank,
    Scope,
    SetVariable,
    Step,
    Strength,
)

NAME = "numbat"
LIMIT = "NUMBAT_LIMIT"
TAKE_ALL = "NUMBAT_TAKE_ALL"


def translate(settings: FrameworkSettings, budgets: Budgets) -> Plan:
    """Return the steps for numbat, what it will report then, and what it cannot express."""
    parts = [_limit(budgets), _preallocate(budgets), _rest(settings)]
    return Plan(
        NAME,
        tuple(step for part in parts for step in part.steps),
        tuple(expectation for part in parts for expectation in part.expectations),
        tuple(item for part in parts for item in part.not_expressed),
    )


def _limit(budgets: Budgets) -> Plan:
    """numbat has one limit for the process: the smallest of the devices' limits holds on each of them."""  # noqa: D403
    limits = [budget for budget in budgets.every() if budget.limit is not None]
    if not limits:
        return Plan(NAME)
    amounts = [budget.limit_bytes for budget in limits]
    assert limits[0].limit is not None
    origin, asked = limits[0].limit.origin, limits[0].limit.asked
    if any(amount is None for amount in amounts):
        reason = f"numbat's limit is in bytes, and the devices' totals are unknown ({budgets.unknown})"
        return Plan(NAME, not_expressed=(NotExpressed(NAME, "limit", reason, origin, asked=asked),))
    smallest = min(amount for amount in amounts if amount is not None)
    step = _variable(LIMIT, str(smallest), "limit", origin, Strength.HARD)
    return Plan(NAME, step, (Expectation("limit", None, smallest, Comparison.LIMIT, "bytes"),))


def _preallocate(budgets: Budgets) -> Plan:
    asked = next((budget.preallocate for budget in budgets.every() if budget.preallocate), None)
    if asked is None:
        return Plan(NAME)
    if not isinstance(asked.amount, bool):
        reason = "numbat takes nothing ahead or its whole limit, not a size"
        item = NotExpressed(NAME, "preallocate", reason, asked.origin, asked=f"preallocate={asked.amount}")
        return Plan(NAME, not_expressed=(item,))
    step = _variable(TAKE_ALL, str(int(asked.amount)), "preallocate", asked.origin, Strength.GROWTH)
    return Plan(NAME, step, (Expectation("preallocate", None, asked.amount),))


def _variable(name: str, value: str, field: str, origin: Origin, strength: Strength) -> tuple[Step, ...]:
    if origin.rank is Rank.NATIVE:
        return ()  # the user's own variable decided: it stays as it is, and is verified all the same
    step = Step(
        action=SetVariable(name, value),
        fields=(field,),
        because=origin,
        moment=Moment.NOW,
        deadline=Deadline.START,
        scope=Scope.PROCESS,
        strength=strength,
    )
    return (step,)


def _rest(settings: FrameworkSettings) -> Plan:
    """List what numbat has no setting for."""
    missing: list[NotExpressed] = []
    if settings.allocator and settings.allocator.value != "default":
        missing.append(NotExpressed(NAME, "allocator", "numbat has one allocator", settings.allocator.origin))
    if settings.visible and settings.visible.value != "all":
        reason = "numbat cannot hide a device; set CUDA_VISIBLE_DEVICES for the whole process"
        missing.append(NotExpressed(NAME, "visible", reason, settings.visible.origin))
    for name, option in settings.options.items():
        missing.append(NotExpressed(NAME, f"options.{name}", "numbat has no further options", option.origin))
    return Plan(NAME, not_expressed=tuple(missing))
