"""The plugin of the invented framework: one variable, in bytes."""

import os
import sys

from gpumem.plugin import (
    Answer,
    Comparison,
    Deadline,
    Expectation,
    Framework,
    FrameworkState,
    Moment,
    NotExpressed,
    Observation,
    Plan,
    Scope,
    SetVariable,
    Step,
    Strength,
    hookimpl,
)


def allocate(size):
    """Hold so many bytes more; return what keeps them."""
    import wallaby

    return wallaby.allocate(size)


@hookimpl
def gpumem_framework():
    """Describe it."""
    return Framework(
        "wallaby",
        "Wallaby",
        variables=("WALLABY_LIMIT",),
        limit_unit="bytes",
        allocate="wallaby_plugin:allocate",
        out_of_memory=(r"^PouchFullError: ",),
    )


@hookimpl
def gpumem_state():
    """Tell whether it is imported."""
    imported = "wallaby" in sys.modules
    return FrameworkState(imported=Answer.YES if imported else Answer.NO, evidence="sys.modules")


@hookimpl
def gpumem_plan(budgets):
    """Set the variable; in one mode say that there is none."""
    if os.environ.get("WALLABY_MODE") == "broken plugin":
        raise LookupError("the plan is lost")
    limit = budgets.of(0).limit
    if limit is None:
        return Plan("wallaby")
    amount = budgets.of(0).limit_bytes
    if os.environ.get("WALLABY_MODE") == "unlimited":
        missing = NotExpressed("wallaby", "limit", "wallaby has no limit", limit.origin, None, limit.asked)
        return Plan("wallaby", not_expressed=(missing,))
    step = Step(
        action=SetVariable("WALLABY_LIMIT", str(amount)),
        fields=("limit",),
        because=limit.origin,
        moment=Moment.NOW,
        deadline=Deadline.NEVER,
        scope=Scope.PROCESS,
        strength=Strength.HARD,
    )
    return Plan("wallaby", (step,), (Expectation("limit", None, amount, Comparison.LIMIT, "bytes"),))


@hookimpl
def gpumem_observe(module):
    """Read the limit and what is held."""
    return (Observation("limit", None, module.limit(), "wallaby.limit()", held=None),)
