"""Translates TensorFlow's own options into variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpumem.plugin import Budget, Expectation, FrameworkSettings, PlanPart, Rank, Resolved, SetVariable, Strength
from gpumem_tensorflow.options import OPTIONS, OptionError, option_text
from gpumem_tensorflow.plan_part import refused, variable_step
from gpumem_tensorflow.variables import RESERVE


def plan_options(settings: FrameworkSettings, environ: Mapping[str, str], in_use: Sequence[Budget]) -> PlanPart:
    """Return the part of the plan for the options."""
    return sum((_option(name, option, environ, in_use) for name, option in settings.options.items()), PlanPart())


def _option(name: str, option: Resolved[object], environ: Mapping[str, str], in_use: Sequence[Budget]) -> PlanPart:
    field, asked = f"options.{name}", f"{name}={option.value}"
    try:
        text = option_text(name, option.value)
    except OptionError as error:
        return refused(field, str(error), option.origin, asked=asked)
    own = environ.get(name)
    if own not in (None, "", text) and option.origin.rank > Rank.NATIVE:
        reason = f"the environment sets {name}={own}, and a person's variable is stronger"
        return refused(field, reason, option.origin, asked=asked)
    if name == RESERVE and in_use and all(budget.limit is not None for budget in in_use):
        # gpu_device.cc: the reserve belongs to the default limit; 4096 beside a memory_limit changed nothing.
        reason = "it only shapes TensorFlow's default limit, and every GPU has a limit of the policy's"
        return refused(field, reason, option.origin, asked=asked)
    step = variable_step(SetVariable(name, text), (field,), option.origin, Strength.ADVICE, OPTIONS[name].meaning)
    return PlanPart((step,), (Expectation(field, None, text),))
