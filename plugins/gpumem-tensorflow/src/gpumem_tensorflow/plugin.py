"""The hooks. Each one only calls the module that does the work."""

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
from gpumem_tensorflow.describe import FRAMEWORK
from gpumem_tensorflow.find_state import find_state
from gpumem_tensorflow.native import read_native
from gpumem_tensorflow.observe import observe
from gpumem_tensorflow.runtime import apply_call
from gpumem_tensorflow.translate import make_plan


@hookimpl
def gpumem_framework() -> Framework:
    """Describe TensorFlow."""
    return FRAMEWORK


@hookimpl
def gpumem_native(environ: Mapping[str, str]) -> NativeReading:
    """Read the user's own variables."""
    return read_native(environ)


@hookimpl
def gpumem_state(environ: Mapping[str, str]) -> FrameworkState:
    """Find out in which state TensorFlow is."""
    return find_state(environ)


@hookimpl
def gpumem_plan(
    settings: FrameworkSettings, budgets: Budgets, state: FrameworkState, environ: Mapping[str, str]
) -> Plan:
    """Translate the policy into steps."""
    return make_plan(settings, budgets, state, environ)


@hookimpl
def gpumem_apply(call: RuntimeCall, module: ModuleType, progress: Progress) -> Undo:
    """Let a call wait for TensorFlow's start."""
    return apply_call(call, module, progress)


@hookimpl
def gpumem_observe(module: ModuleType) -> tuple[Observation, ...]:
    """Read back what is in force."""
    return observe(module)
