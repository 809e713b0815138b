"""The one fraction that keeps the limit of every device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gpumem.plugin import Budget, Origin, human
from gpumem_jax.fraction import floored, in_force, largest_fraction
from gpumem_jax.plan_part import Situation

_LITTLE_LEFT: Final = 0.95
"""Above this share, handles and contexts that need memory of their own have been seen to fail (rstudio/keras3#1538)."""


@dataclass(frozen=True, slots=True)
class LimitFigures:
    """What the limits of all devices come to in JAX.

    Attributes:
        limited: the budgets with a limit; at least one.
        pure: whether every limit is a share of the total, so that nothing is converted.
        fraction: the smallest fraction over the devices; None where a total is needed and unknown; 0 where a
            device's limit is below the smallest amount that the driver hands out.
    """

    limited: tuple[Budget, ...]
    pure: bool
    fraction: float | None

    @property
    def origin(self) -> Origin:
        """The strongest origin among the limits."""
        return min((budget.limit.origin for budget in self.limited if budget.limit), key=lambda o: o.rank)

    @property
    def asked(self) -> str:
        """The limits as declared."""
        return " / ".join(dict.fromkeys(budget.limit.asked for budget in self.limited if budget.limit))


def limit_figures(situation: Situation) -> LimitFigures | None:
    """Return the figures, None where no device that JAX sees has a limit."""
    limited = tuple(budget for budget in situation.seen if budget.limit)
    if not limited:
        return None
    shares = [budget.limit.pure_share for budget in limited if budget.limit]
    if all(share is not None for share in shares):
        return LimitFigures(limited, True, min(share for share in shares if share is not None))
    fractions = [device_fraction(budget) for budget in limited]
    unknown = any(fraction is None for fraction in fractions)
    smallest = None if unknown else min(fraction for fraction in fractions if fraction is not None)
    return LimitFigures(limited, False, smallest)


def device_fraction(budget: Budget) -> float | None:
    """Return the largest fraction that keeps a device's limit, whichever card its ordinal means."""
    if budget.limit is None:
        return None
    if budget.total is None:
        return budget.limit.pure_share
    fractions = []
    for total in {budget.total, budget.largest_total or budget.total}:
        amount = budget.limit.in_bytes(total)
        if amount is None:
            return None
        fractions.append(largest_fraction(amount, total))
    return min(fractions)


def rounding_note(figures: LimitFigures) -> str:
    """Return what a person should know of how the limits were rounded, empty if nothing."""
    amounts = {budget.limit_bytes for budget in figures.limited if not figures.pure}
    notes = [
        f"{amount} bytes are rounded down to {floored(amount)}: the driver hands out units of 2 MiB"
        for amount in sorted(amount for amount in amounts if amount is not None)
        if amount != floored(amount)
    ]
    fraction = figures.fraction
    if fraction is not None and _LITTLE_LEFT < fraction <= 1:
        notes.append("little memory is left for the CUDA context, cuDNN, cuBLAS and NCCL, which are outside of it")
    return "; ".join(notes)


def uneven_note(situation: Situation, figures: LimitFigures) -> str:
    """Return the sentence on devices that get less than asked, because JAX has one fraction for all; else empty."""
    fraction = figures.fraction
    if not fraction:
        return ""
    parts = []
    for budget in situation.seen:
        if budget.ordinal is None or budget.total is None:
            continue
        amount = in_force(budget.total, min(fraction, 1.0))
        asked = budget.limit_bytes
        if asked is None:
            parts.append(f"{human(amount)} on device {budget.ordinal}, which has no limit of its own")
        elif amount < floored(min(asked, budget.total)):
            uncertain = budget.largest_total not in (None, budget.total)
            which = f"device {budget.ordinal}{', if that is the smaller card' if uncertain else ''}"
            parts.append(f"{human(amount)} instead of {human(asked)} on {which}")
    return f"JAX has one fraction for all devices ({fraction:.6g}): {', '.join(parts)}" if parts else ""
