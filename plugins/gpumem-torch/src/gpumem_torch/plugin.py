"""The hooks of gpumem-torch. See `gpumem.plugin.hookspecs` for what each promises."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from gpumem.plugin import (
    Budgets,
    Framework,
    FrameworkSettings,
    FrameworkState,
    NativeReading,
    Observation,
    Plan,
    Progress,
    RuntimeCall,
    Undo,
    hookimpl,
)
from gpumem_torch.describe import FRAMEWORK
from gpumem_torch.examine import examine
from gpumem_torch.native import read_native
from gpumem_torch.observe import observe
from gpumem_torch.runtime import carry_out
from gpumem_torch.translate import translate


@hookimpl
def gpumem_framework() -> Framework:
    """Describe PyTorch."""
    return FRAMEWORK


@hookimpl
def gpumem_native(environ: Mapping[str, str], versions: Mapping[str, str]) -> NativeReading:
    """Read PYTORCH_CUDA_ALLOC_CONF and its relatives as PyTorch does."""
    return read_native(environ, versions)


@hookimpl
def gpumem_state(environ: Mapping[str, str]) -> FrameworkState:
    """Look at `sys.modules` and at what an imported PyTorch tells without a start."""
    return examine(environ)


@hookimpl
def gpumem_plan(
    settings: FrameworkSettings, budgets: Budgets, state: FrameworkState, environ: Mapping[str, str]
) -> Plan:
    """Translate the policy into the allocator's configuration and calls queued for the start of CUDA."""
    return translate(settings, budgets, state, environ)


@hookimpl
def gpumem_apply(call: RuntimeCall, module: ModuleType, progress: Progress) -> Undo | None:
    """Carry out one call of a plan."""
    return carry_out(call, module, progress)


@hookimpl
def gpumem_observe(module: ModuleType) -> tuple[Observation, ...]:
    """Read the limits, the allocator and its configuration back."""
    return observe(module)
