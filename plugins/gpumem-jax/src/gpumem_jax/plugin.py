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
from gpumem_jax.describe import FRAMEWORK
from gpumem_jax.find_state import find_state
from gpumem_jax.native import read_variables
from gpumem_jax.observe import observe
from gpumem_jax.runtime import carry_out
from gpumem_jax.translate import translate


@hookimpl
def gpumem_framework() -> Framework:
    """Describe JAX."""
    return FRAMEWORK


@hookimpl
def gpumem_native(environ: Mapping[str, str], versions: Mapping[str, str]) -> NativeReading:
    """Read the user's own variables."""
    return read_variables(environ, versions)


@hookimpl
def gpumem_state(environ: Mapping[str, str]) -> FrameworkState:
    """Find out whether JAX is imported, has read its variables, and has made a GPU client."""
    return find_state(environ)


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
def gpumem_observe() -> tuple[Observation, ...]:
    """Read back what is in force."""
    return observe()
