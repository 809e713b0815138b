"""A limit, as JAX's fraction."""

from __future__ import annotations

from gpumem.plugin import (
    Budget,
    Comparison,
    Expectation,
    Origin,
    Rank,
    RemoveVariable,
    SetVariable,
    Step,
    Strength,
)
from gpumem_jax import variables
from gpumem_jax.fraction import DEFAULT_FRACTION, as_text, floored, in_force
from gpumem_jax.limit_figures import LimitFigures, rounding_note, uneven_note
from gpumem_jax.plan_part import Part, Situation, refused, variable_step

_TOLERANCE = 1e-6
"""JAX keeps a 32-bit float."""


def translate_limit(situation: Situation, figures: LimitFigures | None, *, above_one: bool) -> Part:
    """Return the part of the plan for the limit.

    Args:
        situation: the arguments of the plan.
        figures: what the limits come to, None without any.
        above_one: whether a fraction above 1 is one (managed memory).
    """
    if figures is None:
        return _without_limit(situation)
    fraction = figures.fraction
    if fraction is None:
        return _unknown_total(situation, figures)
    if fraction == 0:
        reason = "JAX cannot be limited to less than 2 MiB, the unit in which the driver hands out memory"
        return refused("limit", reason, figures.origin, asked=figures.asked)
    fraction = fraction if above_one else min(fraction, 1.0)
    note = "; ".join(text for text in (uneven_note(situation, figures), rounding_note(figures)) if text)
    if figures.origin.rank == Rank.NATIVE and figures.pure and _is_users(situation, fraction):
        # The user's own setting decides and stays as it is; it is only verified.
        return Part(steps=_users_own(situation, figures.origin), expectations=_expected(situation, figures, fraction))
    text = repr(fraction) if figures.pure else as_text(fraction)
    return Part(
        steps=_variables(situation, text, figures.origin, note),
        expectations=_expected(situation, figures, fraction),
        options={"memory_fraction": float(fraction)},
    )


def limit_in_bytes(figures: LimitFigures | None) -> bool:
    """Return whether the limit of devices that are not known yet is verified in bytes, not as a fraction."""
    return (
        figures is not None
        and not figures.pure
        and any(budget.ordinal is None and _known_most(budget) is not None for budget in figures.limited)
    )


def _unknown_total(situation: Situation, figures: LimitFigures) -> Part:
    if situation.frozen:
        why = situation.budgets.unknown or "no total is known"
        reason = (
            f"the total is unknown ({why}) and JAX has discovered its backends already, so there is no moment left at "
            "which it could be read; use a fraction, or configure before JAX is first used"
        )
        return refused("limit", reason, figures.origin, asked=figures.asked)
    return Part(expectations=_expected(situation, figures, None))


def _without_limit(situation: Situation) -> Part:
    """An explicit wish for no limit beats the user's own variable; JAX's own default stays."""
    if not any(budget.unlimited for budget in situation.seen):
        return Part()
    because = next(b.unlimited_because for b in situation.seen if b.unlimited_because)
    steps = tuple(
        variable_step(RemoveVariable(name), ("limit",), because, Strength.HARD)
        for name in (variables.FRACTION, variables.NEW_FRACTION)
        if situation.environ.get(name)
    )
    rescue = situation.frozen or "memory_fraction" in situation.overlay
    return Part(steps=steps, options={"memory_fraction": DEFAULT_FRACTION} if rescue else {})


def _is_users(situation: Situation, fraction: float) -> bool:
    """Return whether the user's own variable, or JAX's own configuration, says exactly this."""
    if situation.user.fraction is not None:
        return situation.user.fraction == fraction
    return "memory_fraction" in situation.overlay


def _users_own(situation: Situation, because: Origin) -> tuple[Step, ...]:
    name = situation.user.fraction_name
    if name is None:
        return ()
    action = SetVariable(name, situation.environ[name])
    return (variable_step(action, ("limit",), because, Strength.HARD, "the user's own variable, left as it is"),)


def _variables(situation: Situation, text: str, because: Origin, note: str) -> tuple[Step, ...]:
    """Return the steps that leave exactly one of the two names set: with both, JAX loses the GPU."""
    new = bool(situation.environ.get(variables.NEW_FRACTION))
    name = variables.NEW_FRACTION if new else variables.FRACTION
    steps = [variable_step(SetVariable(name, text), ("limit",), because, Strength.HARD, note)]
    if new and situation.environ.get(variables.FRACTION):
        removal = RemoveVariable(variables.FRACTION)
        steps.append(variable_step(removal, ("limit",), because, Strength.HARD, "JAX refuses to have both names"))
    return tuple(steps)


def _expected(situation: Situation, figures: LimitFigures, fraction: float | None) -> tuple[Expectation, ...]:
    if figures.pure and fraction is not None:
        return (Expectation("limit", None, fraction, Comparison.LIMIT, "fraction", _TOLERANCE),)
    found = []
    for budget in figures.limited:
        amount = _known_most(budget)
        if amount is None:
            continue
        value = floored(amount)
        if situation.started and fraction is not None and budget.total is not None:
            # Then the totals are exact, and so is what this plan comes to.
            value = min(value, in_force(budget.total, fraction))
        found.append(Expectation("limit", budget.ordinal, value, Comparison.LIMIT, "bytes"))
    return tuple(found)


def _known_most(budget: Budget) -> int | None:
    """Return the most bytes that a device may hold, as far as it is known without its total."""
    if budget.limit is None:
        return None
    if budget.limit_bytes is not None:
        return budget.limit_bytes
    amounts = [bound.amount for bound in budget.limit.bounds if bound.share == 0]
    return min(amounts, default=None)
