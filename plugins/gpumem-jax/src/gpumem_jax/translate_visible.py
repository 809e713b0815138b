"""Which GPUs JAX sees."""

from __future__ import annotations

from gpumem.plugin import (
    Answer,
    Deadline,
    Expectation,
    Moment,
    Origin,
    RuntimeCall,
    Scope,
    SetVariable,
    Step,
    Strength,
)
from gpumem_jax import variables
from gpumem_jax.plan_part import Part, Situation


def translate_visible(situation: Situation) -> Part:
    """Return the part of the plan for the field `visible`."""
    asked = situation.settings.visible
    if asked is None:
        return Part()
    if situation.settings.hidden:
        return _hidden(situation, asked.origin)
    if isinstance(asked.value, tuple):
        ordinals = tuple(sorted(asked.value))
        value = ",".join(str(ordinal) for ordinal in ordinals)
        return Part(
            steps=(config_step("jax_cuda_visible_devices", value, asked.origin),),
            expectations=(Expectation("visible", None, ordinals),),
        )
    known = situation.budgets.complete and situation.budgets.devices
    everything = tuple(budget.ordinal for budget in situation.budgets.devices)
    return Part(
        steps=(config_step("jax_cuda_visible_devices", "all", asked.origin),),
        expectations=(Expectation("visible", None, everything),) if known else (),
    )


def _hidden(situation: Situation, because: Origin) -> Part:
    expectation = Expectation("visible", None, "none")
    if situation.state.imported is not Answer.NO:
        step = config_step("jax_platforms", "cpu", because)
        return Part(steps=(step,), expectations=(expectation,))
    # JAX reads this variable when it is imported. An empty list of CUDA devices would make it fail instead.
    left = variables.without_gpus(situation.environ.get(variables.PLATFORMS, ""))
    step = Step(
        action=SetVariable(variables.PLATFORMS, left),
        fields=("visible",),
        because=because,
        moment=Moment.NOW,
        deadline=Deadline.IMPORT,
        scope=Scope.PROCESS,
        strength=Strength.HARD,
    )
    return Part(steps=(step,), expectations=(expectation,))


def config_step(name: str, value: str, because: Origin) -> Step:
    """Return the step that changes JAX's own configuration; it is read when the clients are made."""
    return Step(
        action=RuntimeCall("update_config", {"name": name, "value": value}, f'jax.config.update("{name}", "{value}")'),
        fields=("visible",),
        because=because,
        moment=Moment.ON_IMPORT,
        deadline=Deadline.START,
        scope=Scope.PROCESS,
        strength=Strength.HARD,
    )
