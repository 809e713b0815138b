"""Translates limits into logical devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpumem.plugin import (
    Budget,
    Budgets,
    Comparison,
    Expectation,
    FrameworkSettings,
    Limit,
    PlanPart,
    RemoveVariable,
    Scope,
    Strength,
    human,
)
from gpumem_tensorflow.logical_devices import MB, megabytes
from gpumem_tensorflow.plan_part import refused, start_step, variable_step
from gpumem_tensorflow.variables import ALLOCATOR, read_allocator


def plan_limits(settings: FrameworkSettings, budgets: Budgets, in_use: Sequence[Budget]) -> PlanPart:
    """Return the part of the plan for the limits of the GPUs in use."""
    strict = settings.reaction_to_unsupported("limit") == "error"
    besides = [budget.ordinal for budget in budgets.devices]
    uncertain = bool(budgets.ambiguous)
    part = sum(
        (_limit(budget, budget.limit, besides, strict, uncertain) for budget in in_use if budget.limit is not None),
        PlanPart(),
    )
    shares = any(bound.share for budget in in_use if budget.limit for bound in budget.limit.bounds)
    if shares and (why := budgets.ambiguous or budgets.unknown):
        part += PlanPart(notes=(f"{why}; TensorFlow's limits are set with CUDA's own totals when it starts",))
    return part


def keeps_limits(environ: Mapping[str, str], in_use: Sequence[Budget]) -> PlanPart:
    """Return the step that removes the user's choice of an allocator that holds no limit, where a limit is asked."""
    limited = [budget.limit.origin for budget in in_use if budget.limit is not None]
    if not limited or read_allocator(environ) not in ("async", "direct"):
        return PlanPart()
    note = f"{environ[ALLOCATOR]} holds no limit; TensorFlow's pool does"
    return PlanPart((variable_step(RemoveVariable(ALLOCATOR), ("limit",), min(limited), Strength.HARD, note),))


def _limit(budget: Budget, limit: Limit, besides: Sequence[int | None], strict: bool, uncertain: bool) -> PlanPart:
    device = budget.ordinal
    amount = budget.limit_bytes
    if amount is not None and megabytes(amount) < 1:
        reason = f"TensorFlow counts limits in whole MB of {MB} bytes, and on a GPU with 0 every operation fails"
        return refused("limit", reason, limit.origin, device=device, asked=limit.asked)
    whole = None if amount is None else megabytes(amount)
    # A share of a total that is not known for certain is read back as a share of the total that CUDA tells.
    share = limit.pure_share if amount is None or uncertain else None
    arguments = {
        "device": device,
        "besides": [number for number in besides if number is not None],
        "bounds": [[bound.share, bound.amount] for bound in limit.bounds],
        "bytes": amount,
        "share": share,
        "strict": strict,
    }
    gpu = "every other GPU" if device is None and besides else "every GPU" if device is None else f"GPU {device}"
    if share is not None:
        text = f"memory_limit={share:g} of the total on {gpu}"
    else:
        text = f"memory_limit={limit.asked if whole is None else whole} on {gpu}"
    note = ""
    if share is None and amount is not None and whole is not None and amount % MB:
        note = f"{amount} bytes are rounded down to {whole} MB ({human(whole * MB)})"
    step = start_step(
        "limit", arguments, text, ("limit",), limit.origin, Strength.HARD, device=device, scope=Scope.DEVICE, note=note
    )
    if share is not None:
        return PlanPart((step,), (Expectation("limit", device, share, Comparison.LIMIT, "fraction"),))
    at_most = amount if amount is not None else _certain_part(limit)
    if at_most is None:
        return PlanPart((step,))
    return PlanPart((step,), (Expectation("limit", device, megabytes(at_most) * MB, Comparison.LIMIT, "bytes"),))


def _certain_part(limit: Limit) -> int | None:
    """Return the smallest of the bounds that are amounts, while the others wait for the total."""
    amounts = [bound.amount for bound in limit.bounds if bound.share == 0]
    return min(amounts) if amounts else None
