"""What plugin authors import. A plugin needs nothing else of gpumem.

The hooks with their contracts stand in `gpumem.plugin.hookspecs`; `gpumem.testing.PluginContract` tests them.
"""

from __future__ import annotations

from gpumem_core.devices.cuda_state import CudaState, cuda_state
from gpumem_core.model.budget import Bound, Budget, Budgets, Limit, Preallocation
from gpumem_core.model.device import Device, Devices
from gpumem_core.model.framework import (
    FIELDS,
    AllocatorSupport,
    Answer,
    FieldSupport,
    Framework,
    FrameworkState,
    NativeFault,
    NativeReading,
    NativeSetting,
    Observation,
)
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.plan import (
    Comparison,
    Deadline,
    Expectation,
    Moment,
    NotExpressed,
    Plan,
    PlanPart,
    RemoveVariable,
    RuntimeCall,
    Scope,
    SetVariable,
    Step,
    Strength,
)
from gpumem_core.model.settings import FrameworkSettings, Resolved
from gpumem_core.plugins import hookspecs
from gpumem_core.plugins.hookspecs import Progress, Undo, hookimpl
from gpumem_core.plugins.registration import register
from gpumem_core.plugins.versions import installed_versions
from gpumem_core.sizes import Size, human

__all__ = [
    "FIELDS",
    "AllocatorSupport",
    "Answer",
    "Bound",
    "Budget",
    "Budgets",
    "Comparison",
    "CudaState",
    "Deadline",
    "Device",
    "Devices",
    "Expectation",
    "FieldSupport",
    "Framework",
    "FrameworkSettings",
    "FrameworkState",
    "Limit",
    "Moment",
    "NativeFault",
    "NativeReading",
    "NativeSetting",
    "NotExpressed",
    "Observation",
    "Origin",
    "Plan",
    "PlanPart",
    "Preallocation",
    "Progress",
    "Rank",
    "RemoveVariable",
    "Resolved",
    "RuntimeCall",
    "Scope",
    "SetVariable",
    "Size",
    "Step",
    "Strength",
    "Undo",
    "cuda_state",
    "hookimpl",
    "hookspecs",
    "human",
    "installed_versions",
    "register",
]
