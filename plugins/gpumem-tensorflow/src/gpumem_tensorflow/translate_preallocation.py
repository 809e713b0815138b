"""Translates what is taken at first touch into TensorFlow's one growth variable."""

from __future__ import annotations

from collections.abc import Sequence

from gpumem.plugin import Budget, Expectation, Origin, PlanPart, Preallocation, SetVariable, Strength, human
from gpumem_tensorflow.plan_part import refused, variable_step
from gpumem_tensorflow.variables import ASYNC_PREALLOCATION, GROWTH, growth_text

_ONE_VALUE = "TensorFlow has one growth setting for all visible GPUs"


def plan_preallocation(in_use: Sequence[Budget], allocator: str) -> PlanPart:
    """Return the part of the plan for `preallocate`.

    Args:
        in_use: the budgets of the GPUs that TensorFlow is to see.
        allocator: the policy's word for the allocator that will be used.
    """
    asked = [(budget, budget.preallocate) for budget in in_use if budget.preallocate is not None]
    if not asked:
        return PlanPart()
    sizes = [(budget, wish) for budget, wish in asked if _size(budget, wish) is not None]
    if sizes and allocator == "async" and not any(budget.limit for budget in in_use):
        return _async_sizes(asked, sizes)
    part = sum((_refuse_size(budget, wish) for budget, wish in sizes), PlanPart())
    if len(sizes) == len(asked):
        # Nothing else is asked: growth stands in for the sizes where there is a limit to grow to.
        if any(budget.limit for budget in in_use):
            part += _growth(True, _strongest(asked), "limit", "in place of a size taken ahead")
        return part
    grows = any(_grows(budget, wish) for budget, wish in asked)
    part += _growth(grows, _strongest(asked), "preallocate", _note(grows, in_use, asked))
    part += PlanPart(expectations=(Expectation("preallocate", None, not grows),))
    if grows:
        part += sum(
            (
                refused(
                    "preallocate",
                    f"{_ONE_VALUE}, and another GPU is asked to grow: memory is taken as needed on all of them",
                    wish.origin,
                    device=budget.ordinal,
                    asked="preallocate=True",
                )
                for budget, wish in asked
                if not _grows(budget, wish)
            ),
            PlanPart(),
        )
    return part


def _size(budget: Budget, wish: Preallocation) -> int | None:
    """Return the size to take ahead, None for nothing, for all, and for a size that comes to the whole limit."""
    if isinstance(wish.amount, bool):
        return None
    return wish.amount if budget.preallocate_bytes != budget.limit_bytes else None


def _grows(budget: Budget, wish: Preallocation) -> bool:
    return wish.amount is False or _size(budget, wish) is not None


def _strongest(asked: Sequence[tuple[Budget, Preallocation]]) -> Origin:
    return min(wish.origin for _, wish in asked)


def _note(grows: bool, in_use: Sequence[Budget], asked: Sequence[tuple[Budget, Preallocation]]) -> str:
    if len(asked) < len(in_use):
        return f"{_ONE_VALUE}: it holds for those as well for which nothing was asked"
    if not grows and any(budget.limit is None for budget in in_use):
        return "without a limit TensorFlow takes what is free but its own reserve"
    return ""


def _growth(grows: bool, because: Origin, field: str, note: str) -> PlanPart:
    action = SetVariable(GROWTH, growth_text(grows))
    return PlanPart((variable_step(action, (field,), because, Strength.GROWTH, note),))


def _refuse_size(budget: Budget, wish: Preallocation) -> PlanPart:
    reason = "TensorFlow cannot take a size ahead and grow from there"
    if budget.limit:
        reason += ": memory is taken as needed, up to the limit"
    else:
        reason += ": without a limit it keeps its own way and takes what is free; ask for growth, or add a limit"
    asked = f"preallocate={human(int(wish.amount))}"
    return refused("preallocate", reason, wish.origin, device=budget.ordinal, asked=asked)


def _async_sizes(
    asked: Sequence[tuple[Budget, Preallocation]], sizes: Sequence[tuple[Budget, Preallocation]]
) -> PlanPart:
    """Take the smallest size ahead by the async allocator's own variable: one value for all visible GPUs."""
    smallest = min(int(wish.amount) for _, wish in sizes)
    action = SetVariable(ASYNC_PREALLOCATION, str(smallest))
    note = "the async allocator takes it from the driver's pool at its start, on every visible GPU"
    part = PlanPart(
        (variable_step(action, ("preallocate",), _strongest(asked), Strength.GROWTH, note),),
        (Expectation("preallocate", None, smallest, unit="bytes"),),
    )
    reason = f"{ASYNC_PREALLOCATION} has one value for all visible GPUs: {human(smallest)} are taken ahead"
    return part + sum(
        (
            refused("preallocate", reason, wish.origin, device=budget.ordinal, asked=f"preallocate={wish.amount}")
            for budget, wish in asked
            if wish.amount is False or int(wish.amount) != smallest
        ),
        PlanPart(),
    )
