"""The hooks. Each one hands over to the module that does its work."""

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
from gpumem_cupy.describe import FRAMEWORK
from gpumem_cupy.detect import detect
from gpumem_cupy.native import read_variables
from gpumem_cupy.observe import observe
from gpumem_cupy.runtime import carry_out
from gpumem_cupy.translate import translate


@hookimpl
def gpumem_framework() -> Framework:
    """Describe CuPy."""
    return FRAMEWORK


@hookimpl
def gpumem_native(environ: Mapping[str, str], versions: Mapping[str, str]) -> NativeReading:
    """Read the user's own variable."""
    return read_variables(environ, versions)


@hookimpl
def gpumem_state(environ: Mapping[str, str]) -> FrameworkState:
    """Find out whether CuPy is imported and has used its pools."""
    return detect(environ)


@hookimpl
def gpumem_plan(
    settings: FrameworkSettings, budgets: Budgets, state: FrameworkState, environ: Mapping[str, str]
) -> Plan:
    """Translate the policy."""
    return translate(settings, budgets, state, environ)


@hookimpl
def gpumem_apply(call: RuntimeCall, module: ModuleType, progress: Progress) -> Undo | None:
    """Carry out one call of the plan."""
    return carry_out(call, module, progress)


@hookimpl
def gpumem_observe(module: ModuleType) -> tuple[Observation, ...]:
    """Read back what is in force."""
    return observe(module)
