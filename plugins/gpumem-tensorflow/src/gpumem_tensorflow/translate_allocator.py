"""Translates the allocator word. A limit beats it."""

from __future__ import annotations

from collections.abc import Mapping

from gpumem.plugin import Expectation, FrameworkSettings, Origin, PlanPart, RemoveVariable, SetVariable, Step, Strength
from gpumem_tensorflow.plan_part import refused, start_step, variable_step
from gpumem_tensorflow.variables import ALLOCATOR, read_allocator

_NATIVE = {"async": "cuda_malloc_async", "direct": "cuda_malloc"}


def plan_allocator(settings: FrameworkSettings, environ: Mapping[str, str], *, limited: bool) -> tuple[PlanPart, str]:
    """Return the part of the plan for `allocator`, and the word for the allocator that will be used.

    Args:
        settings: the settings of TensorFlow.
        environ: the environment without what gpumem wrote.
        limited: whether a GPU that TensorFlow is to see has a limit.
    """
    asked = settings.allocator
    own = read_allocator(environ)
    if asked is None or asked.value == "default":
        return PlanPart(), "pool" if limited or own is None else own
    word, origin = asked.value, asked.origin
    if word in _NATIVE and limited:
        reason = f"TensorFlow's {_NATIVE[word]} holds no limit; the limit is kept with its pool (BFC)"
        return refused("allocator", reason, origin, asked=f"allocator={word}"), "pool"
    if word in _NATIVE:
        step = variable_step(SetVariable(ALLOCATOR, _NATIVE[word]), ("allocator",), origin, Strength.ADVICE)
        return PlanPart((step,), (Expectation("allocator", None, word),)), word
    if word == "pool":
        return PlanPart((_pool(environ, own, origin),), (Expectation("allocator", None, "pool"),)), "pool"
    if word == "managed":
        return _managed(own, origin), "managed"
    reason = f"TensorFlow has no allocator for {word}; it has pool, async, direct and managed"
    return refused("allocator", reason, origin, asked=f"allocator={word}"), "pool" if limited or own is None else own


def _pool(environ: Mapping[str, str], own: str | None, origin: Origin) -> Step:
    """Return the step for the pool: TensorFlow's own way, once nothing else is chosen."""
    action = SetVariable(ALLOCATOR, environ[ALLOCATOR]) if own == "pool" else RemoveVariable(ALLOCATOR)
    return variable_step(action, ("allocator",), origin, Strength.ADVICE, "the pool (BFC) is TensorFlow's default")


def _managed(own: str | None, origin: Origin) -> PlanPart:
    """Return the part for managed memory, which TensorFlow offers in its ConfigProto alone."""
    text = "ConfigProto.gpu_options.experimental.use_unified_memory=True"
    steps: tuple[Step, ...] = (start_step("managed", {}, text, ("allocator",), origin, Strength.ADVICE),)
    if own in _NATIVE:  # these are asked first and leave no room for unified memory (gpu_process_state.cc)
        steps = (variable_step(RemoveVariable(ALLOCATOR), ("allocator",), origin, Strength.ADVICE), *steps)
    return PlanPart(steps, (Expectation("allocator", None, "managed"),))
