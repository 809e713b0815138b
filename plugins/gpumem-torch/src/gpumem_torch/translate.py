"""From a policy to PyTorch's own settings. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpumem.plugin import (
    Answer,
    Budgets,
    Deadline,
    FrameworkSettings,
    FrameworkState,
    Moment,
    NotExpressed,
    Plan,
    PlanPart,
    RuntimeCall,
    Scope,
    Step,
    Strength,
)
from gpumem_torch.choose_allocator import choose_allocator
from gpumem_torch.configuration_steps import ConfigurationSteps
from gpumem_torch.limits import limits
from gpumem_torch.preallocation import preallocation
from gpumem_torch.runtime import LEAVE_AS_IS
from gpumem_torch.situation import situation_of
from gpumem_torch.translate_options import translate_options
from gpumem_torch.variables import HIP_NAME

NOTHING_TO_DO = RuntimeCall(LEAVE_AS_IS, {}, "(nothing: PyTorch has no GPU in this process)")


def translate(settings: FrameworkSettings, budgets: Budgets, state: FrameworkState, environ: Mapping[str, str]) -> Plan:
    """Return the plan; see `gpumem.plugin.hookspecs.gpumem_plan`."""
    situation = situation_of(state, environ)
    choice = choose_allocator(settings, budgets, situation)
    options = translate_options(settings, choice, budgets.any_limit, situation)
    configuration = ConfigurationSteps(settings.framework, choice, options, situation)
    parts = _visible(settings, budgets, environ) + choice.parts + options.parts + configuration.parts()
    parts += limits(settings, budgets, choice, situation)
    parts += preallocation(settings, budgets, choice, configuration.values(), situation)
    if not state.versions and parts != PlanPart():
        note = "the version of PyTorch is unknown; it is taken for one like those that were tested (2.5 to 2.14)"
        parts += PlanPart(notes=(note,))
    if configuration.changes and environ.get(HIP_NAME):
        note = f"{HIP_NAME} is set, but this PyTorch is built for CUDA: its keys were not taken over"
        parts += PlanPart(notes=(note,))
    steps = parts.steps
    if state.imported is Answer.YES and not state.applicable:
        steps = tuple(replace(step, action=NOTHING_TO_DO, deadline=Deadline.NEVER) for step in steps)
    return Plan(settings.framework, steps, parts.expectations, parts.not_expressed, parts.notes)


def _visible(settings: FrameworkSettings, budgets: Budgets, environ: Mapping[str, str]) -> PlanPart:
    """PyTorch sees what CUDA_VISIBLE_DEVICES leaves, which gpumem never writes: other libraries read it as well."""
    if settings.visible is None:
        return PlanPart()
    wanted = settings.visible.value
    hidden_already = environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in {"", "-1"}
    everything = tuple(budget.ordinal for budget in budgets.devices) if budgets.complete else None
    so_already = wanted == "all" or (settings.hidden and hidden_already)
    if so_already or (isinstance(wanted, tuple) and wanted and everything == tuple(sorted(wanted))):
        step = Step(
            action=RuntimeCall(LEAVE_AS_IS, {}, "(nothing: PyTorch sees what CUDA_VISIBLE_DEVICES leaves)"),
            fields=("visible",),
            because=settings.visible.origin,
            moment=Moment.ON_IMPORT,
            deadline=Deadline.NEVER,
            scope=Scope.PROCESS,
            strength=Strength.HARD,
        )
        return PlanPart((step,))
    value = "" if settings.hidden else ",".join(str(ordinal) for ordinal in wanted)
    reason = (
        "PyTorch itself has no setting for it, and CUDA_VISIBLE_DEVICES is left alone because every library of the "
        f"process reads it: start the program with CUDA_VISIBLE_DEVICES={value!r}, or use chosen devices only"
    )
    refusal = NotExpressed(settings.framework, "visible", reason, settings.visible.origin, asked=f"visible={wanted}")
    notes = ("PyTorch still sees the GPUs, so its limits are set all the same",) if settings.hidden else ()
    return PlanPart(not_expressed=(refusal,), notes=notes)
