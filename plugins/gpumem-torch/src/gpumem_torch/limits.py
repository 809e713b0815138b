"""From budgets to calls that limit PyTorch's allocator."""

from __future__ import annotations

from dataclasses import replace

from gpumem.plugin import (
    Budget,
    Budgets,
    Comparison,
    Deadline,
    Expectation,
    FrameworkSettings,
    Limit,
    Moment,
    NotExpressed,
    Origin,
    PlanPart,
    Rank,
    RuntimeCall,
    Scope,
    Step,
    Strength,
)
from gpumem_torch import limit_memory
from gpumem_torch.choose_allocator import Choice
from gpumem_torch.fractions_of_total import chosen_fraction
from gpumem_torch.release import LIMITS_WITHOUT_CONTEXT, is_before
from gpumem_torch.runtime import LEAVE_AS_IS
from gpumem_torch.situation import Situation

SHARE_TOLERANCE = 1e-8
"""PyTorch keeps bytes: a fraction comes back as bytes / total, up to half a byte off."""


def bounds_of(limit: Limit | None) -> list[list[float]]:
    """Return the bounds of a limit as plain pairs of a share of the total and bytes."""
    return [[bound.share, bound.amount] for bound in limit.bounds] if limit else []


def limits(settings: FrameworkSettings, budgets: Budgets, choice: Choice, situation: Situation) -> PlanPart:
    """Return the limits of all devices, the ones named first and all others last."""
    parts = PlanPart()
    alone = [budget.ordinal for budget in budgets.devices if budget.ordinal is not None]
    for budget in budgets.every():
        but = alone if budget.ordinal is None else []
        if budget.limit is not None:
            parts += _limit(settings.framework, budget, budget.limit, but, budgets, choice, situation)
        elif budget.unlimited_because and situation.user_limits:
            parts += PlanPart((_step(budget, [], but, budget.unlimited_because, choice),))
    if parts.steps and budgets.ambiguous:
        parts += PlanPart(
            notes=("PyTorch's limits are calculated when CUDA starts, from the memory of the very device",)
        )
    several = not budgets.complete or len(budgets.devices) > 1
    old = is_before(situation.release, LIMITS_WITHOUT_CONTEXT)
    if parts.steps and several and (old or choice.word == "async"):
        why = "cudaMallocAsync" if choice.word == "async" else "PyTorch before 2.10"
        note = (
            f"{why} makes a CUDA context on each device whose limit is set, some hundred MB; where a process uses one "
            "device only, let it see only that one (CUDA_VISIBLE_DEVICES)"
        )
        parts += PlanPart(notes=(note,))
    return parts


def _limit(
    framework: str, budget: Budget, limit: Limit, but: list[int], budgets: Budgets, choice: Choice, situation: Situation
) -> PlanPart:
    expectation = _expectation(budget, limit, budgets)
    if limit.origin.rank is Rank.NATIVE:  # the user set it in PyTorch's own way: it is only read back
        read_back = replace(expectation, tolerance=SHARE_TOLERANCE)
        return PlanPart((_only_read_back(budget, limit),) if expectation.unit == "fraction" else (), (read_back,))
    if choice.word == "foreign":
        reason = (
            f"PyTorch allocates through another allocator ({situation.backend}), set with "
            "torch.cuda.memory.change_current_allocator, which PyTorch cannot limit: give the limit to that allocator"
        )
        refusal = NotExpressed(framework, "limit", reason, limit.origin, budget.ordinal, limit.asked)
        return PlanPart(not_expressed=(refusal,))
    in_shares = expectation.unit == "fraction"
    return PlanPart((_step(budget, bounds_of(limit), but, limit.origin, choice, in_shares=in_shares),), (expectation,))


def _only_read_back(budget: Budget, limit: Limit) -> Step:
    """Return the call that changes nothing and has the limit read back as a fraction, because no total is known."""
    return Step(
        action=RuntimeCall(LEAVE_AS_IS, {"in_shares": [budget.ordinal]}, "(as the user set it)"),
        fields=("limit",),
        because=limit.origin,
        moment=Moment.ON_IMPORT,
        deadline=Deadline.NEVER,
        scope=Scope.DEVICE,
        strength=Strength.HARD,
        device=budget.ordinal,
    )


def _expectation(budget: Budget, limit: Limit, budgets: Budgets) -> Expectation:
    """Return what PyTorch will say: bytes where they are known for certain, else a share of the total."""
    amount = budget.limit_bytes
    certain = limit.pure_bytes is not None or (amount is not None and not budgets.ambiguous)
    if certain and amount is not None:
        return Expectation("limit", budget.ordinal, amount, Comparison.LIMIT, "bytes")
    share = min(bound.share for bound in limit.bounds if bound.share)
    return Expectation("limit", budget.ordinal, min(share, 1.0), Comparison.LIMIT, "fraction", SHARE_TOLERANCE)


def _step(
    budget: Budget,
    bounds: list[list[float]],
    but: list[int],
    origin: Origin,
    choice: Choice,
    *,
    in_shares: bool = False,
) -> Step:
    at_most = budget.limit_bytes if budget.limit and not in_shares else None
    arguments = {"device": budget.ordinal, "except": but, "bounds": bounds, "at_most": at_most, "in_shares": in_shares}
    return Step(
        action=RuntimeCall(limit_memory.NAME, arguments, _text(budget, bounds)),
        fields=("limit",),
        because=origin,
        moment=Moment.ON_START,
        deadline=Deadline.NEVER,
        scope=Scope.DEVICE,
        strength=Strength.SOFT if choice.word == "async" else Strength.HARD,
        device=budget.ordinal,
        note=_note(bounds, choice),
    )


def _text(budget: Budget, bounds: list[list[float]]) -> str:
    device = "each device" if budget.ordinal is None else str(budget.ordinal)
    if not bounds:
        fraction = "1.0"
    elif all(not amount for _share, amount in bounds):
        fraction = f"{min(share for share, _amount in bounds):.6g}"
    elif budget.total is not None:
        fraction = f"{chosen_fraction(bounds, budget.total, 0):.6g}"
    elif budget.limit_bytes is not None:
        fraction = f"{budget.limit_bytes} / total"
    else:
        fraction = "the smallest bound / total"
    return f"torch.cuda.set_per_process_memory_fraction({fraction}, {device})"


def _note(bounds: list[list[float]], choice: Choice) -> str:
    if not bounds:
        return ""
    if choice.word == "vmm":
        return "set one segment (20 MiB) lower, because PyTorch may map one more than it allows"
    if choice.word == "async":
        return "counts the bytes PyTorch requests; the driver's pool may hold more"
    return ""
