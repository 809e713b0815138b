"""From budgets to calls that take memory ahead, or to none."""

from __future__ import annotations

from collections.abc import Mapping

from gpumem.plugin import (
    Budget,
    Budgets,
    Deadline,
    Expectation,
    FrameworkSettings,
    Moment,
    NotExpressed,
    PlanPart,
    Preallocation,
    RuntimeCall,
    Scope,
    Step,
    Strength,
    human,
)
from gpumem_torch import take_ahead
from gpumem_torch.choose_allocator import Choice
from gpumem_torch.limits import bounds_of
from gpumem_torch.runtime import LEAVE_AS_IS
from gpumem_torch.situation import Situation


def preallocation(
    settings: FrameworkSettings, budgets: Budgets, choice: Choice, values: Mapping[str, str], situation: Situation
) -> PlanPart:
    """Return what is taken ahead on which device.

    Args:
        settings: the resolved settings.
        budgets: the budgets.
        choice: the allocator that will be in force.
        values: the configuration string that will be in force, by key.
        situation: what is there.
    """
    asking = [(budget, budget.preallocate) for budget in budgets.every() if budget.preallocate is not None]
    growing = [(budget, wanted) for budget, wanted in asking if wanted.amount is False]
    parts = PlanPart()
    if growing and len(growing) == len(budgets.every()):
        parts += _grows(None, growing[0][1])
    else:
        for budget, wanted in growing:
            parts += _grows(budget.ordinal, wanted)
    taking = [(budget, wanted) for budget, wanted in asking if wanted.amount is not False]
    return parts + _takes(settings.framework, taking, budgets, choice, values, situation) if taking else parts


def _grows(device: int | None, wanted: Preallocation) -> PlanPart:
    step = Step(
        action=RuntimeCall(LEAVE_AS_IS, {}, "(nothing: PyTorch takes memory as it is needed)"),
        fields=("preallocate",),
        because=wanted.origin,
        moment=Moment.ON_IMPORT,
        deadline=Deadline.NEVER,
        scope=Scope.PROCESS if device is None else Scope.DEVICE,
        strength=Strength.GROWTH,
        device=device,
    )
    return PlanPart((step,), (Expectation("preallocate", device, False),))


def _takes(
    framework: str,
    taking: list[tuple[Budget, Preallocation]],
    budgets: Budgets,
    choice: Choice,
    values: Mapping[str, str],
    situation: Situation,
) -> PlanPart:
    reason = _why_not(choice, values, situation)
    if reason:
        return _refused(framework, reason, taking[:1], everywhere=True)
    chosen = [(b, w) for b, w in taking if b.ordinal is None or _is_reached(b, budgets, situation)]
    left = [(b, w) for b, w in taking if (b, w) not in chosen]
    parts = PlanPart()
    for budget, wanted in chosen:
        if wanted.amount is True and budget.limit is None:
            parts += _refused(framework, "there is no limit to take ahead: set cap or fraction", [(budget, wanted)])
        else:
            parts += _taken(budget, wanted, budgets, choice, situation)
    if left and situation.local_rank is None:
        where = (
            "PyTorch does not tell which device it will use first; memory is taken on devices that the policy names "
            "(devices.0.preallocate), on the only visible one, or on the launcher's local one"
        )
        parts += _refused(framework, where, left, everywhere=not chosen)
    elif left:
        note = f"memory is taken ahead on device {_local(budgets, situation)} only, the launcher's local one"
        parts += PlanPart(notes=(note,))
    return parts


def _why_not(choice: Choice, values: Mapping[str, str], situation: Situation) -> str:
    if choice.word == "foreign":
        return f"PyTorch allocates through another allocator ({situation.backend}); take memory ahead there"
    if choice.word == "direct":
        return "without its cache PyTorch gives every block back at once"
    if "max_split_size_mb" in values and choice.word == "pool":
        return "with max_split_size_mb PyTorch could not use a large block for smaller tensors"
    return ""


def _is_reached(budget: Budget, budgets: Budgets, situation: Situation) -> bool:
    """Return whether memory is taken on a device that is known by its ordinal."""
    if budget.named or (budgets.complete and len(budgets.devices) == 1):
        return True
    return budgets.complete and budget.ordinal == _local(budgets, situation)


def _local(budgets: Budgets, situation: Situation) -> int | None:
    rank = situation.local_rank
    return None if rank is None or not budgets.devices else rank % len(budgets.devices)


def _taken(budget: Budget, wanted: Preallocation, budgets: Budgets, choice: Choice, situation: Situation) -> PlanPart:
    amount = None if wanted.amount is True else int(wanted.amount)
    but = [b.ordinal for b in budgets.devices if b.ordinal is not None] if budget.ordinal is None else []
    arguments = {
        "device": budget.ordinal,
        "local": situation.local_rank,
        "except": but,
        "amount": amount,
        "bounds": bounds_of(budget.limit),
    }
    what = "the limit" if amount is None else human(amount)
    notes = ["part of the limit stays for tensors below 1 MiB, which cannot use the block"] if amount is None else []
    notes += ["that the driver's pool keeps it is by CUDA's documentation"] if choice.word == "async" else []
    step = Step(
        action=RuntimeCall(take_ahead.NAME, arguments, f"torch.cuda.caching_allocator_alloc({what}), and delete"),
        fields=("preallocate",),
        because=wanted.origin,
        moment=Moment.ON_START,
        deadline=Deadline.NEVER,
        scope=Scope.DEVICE,
        strength=Strength.SOFT,
        device=budget.ordinal,
        note="; ".join(notes),
    )
    return PlanPart((step,), (Expectation("preallocate", budget.ordinal, True),))


def _refused(
    framework: str, reason: str, which: list[tuple[Budget, Preallocation]], *, everywhere: bool = False
) -> PlanPart:
    chosen = which[:1] if everywhere else which
    return PlanPart(
        not_expressed=tuple(
            NotExpressed(
                framework,
                "preallocate",
                reason,
                wanted.origin,
                None if everywhere else budget.ordinal,
                f"preallocate={str(wanted.amount).lower() if isinstance(wanted.amount, bool) else wanted.amount}",
            )
            for budget, wanted in chosen
        )
    )
