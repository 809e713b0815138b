"""Translates limits into logical devices."""

from __future__ import annotations

from collections.abc import Sequence

from gpumem.plugin import (
    Budget,
    Budgets,
    Comparison,
    Expectation,
    FrameworkSettings,
    Limit,
    RemoveVariable,
    Scope,
    Strength,
    human,
)

from gpumem_tensorflow.logical_devices import MB, megabytes
from gpumem_tensorflow.plan_part import Part, joined, refused, start_step, variable_step
from gpumem_tensorflow.variables import ALLOCATOR, read_allocator


def plan_limits(settings: FrameworkSettings, budgets: Budgets, in_use: Sequence[Budget]) -> Part:
    """Return the part of the plan for the limits of the GPUs in use."""
    strict = settings.reaction_to_unsupported("limit") == "error"
    besides = [budget.ordinal for budget in budgets.devices]
    part = joined(_limit(budget, budget.limit, besides, strict) for budget in in_use if budget.limit is not None)
    shares = any(bound.share for budget in in_use if budget.limit for bound in budget.limit.bounds)
    if shares and budgets.ambiguous:
        part += Part(notes=(f"{budgets.ambiguous}; TensorFlow's limits are set with CUDA's own totals at its start",))
    if budgets.unknown and any(budget.limit and budget.limit_bytes is None for budget in in_use):
        part += Part(notes=(f"{budgets.unknown}; TensorFlow's limits wait for CUDA's own totals at its start",))
    return part


def keeps_limits(environ: dict[str, str], in_use: Sequence[Budget]) -> Part:
    """Return the step that removes the user's choice of an allocator that holds no limit, where a limit is asked."""
    limited = [budget.limit.origin for budget in in_use if budget.limit is not None]
    if not limited or read_allocator(environ) not in ("async", "direct"):
        return Part()
    note = f"{environ[ALLOCATOR]} holds no limit; TensorFlow's pool does"
    return Part((variable_step(RemoveVariable(ALLOCATOR), ("limit",), min(limited), Strength.HARD, note),))


def _limit(budget: Budget, limit: Limit, besides: Sequence[int | None], strict: bool) -> Part:
    device = budget.ordinal
    amount = budget.limit_bytes
    if amount is not None and megabytes(amount) < 1:
        reason = f"TensorFlow counts limits in whole MB of {MB} bytes, and 0 would make a GPU on which every operation fails"
        return refused("limit", reason, limit.origin, device=device, asked=limit.asked)
    whole = None if amount is None else megabytes(amount)
    arguments = {
        "device": device,
        "besides": [number for number in besides if number is not None],
        "bounds": [[bound.share, bound.amount] for bound in limit.bounds],
        "bytes": amount,
        "strict": strict,
    }
    gpu = "every other GPU" if device is None and besides else "every GPU" if device is None else f"GPU {device}"
    text = f"memory_limit={'share of the total' if whole is None else whole} on {gpu}"
    note = ""
    if amount is not None and whole is not None and amount % MB:
        note = f"{amount} bytes are rounded down to {whole} MB ({human(whole * MB)})"
    step = start_step(
        "limit", arguments, text, ("limit",), limit.origin, Strength.HARD, device=device, scope=Scope.DEVICE, note=note
    )
    if whole is None:
        return Part((step,))
    return Part((step,), (Expectation("limit", device, whole * MB, Comparison.LIMIT, "bytes"),))
