"""The hooks. What they say stands in the modules beside this one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType

from gpumem.plugin import (
    Answer,
    Budgets,
    FieldSupport,
    Framework,
    FrameworkSettings,
    FrameworkState,
    NativeReading,
    Observation,
    Plan,
    hookimpl,
    installed_versions,
)
from gpumem_numbat.native import read_variables
from gpumem_numbat.observe import observe
from gpumem_numbat.translate import LIMIT, NAME, TAKE_ALL, translate


@hookimpl
def gpumem_framework() -> Framework:
    """Describe numbat."""
    return Framework(
        name=NAME,
        title="Numbat",
        distributions=("numbat",),
        variables=(LIMIT, TAKE_ALL),
        limit_unit="bytes",
        fields=(
            FieldSupport("limit", f"{LIMIT} in bytes", "the first allocation", "hard", "process"),
            FieldSupport("preallocate", f"{TAKE_ALL}=0 or 1", "the first allocation", "growth", "process"),
        ),
        outside_of_caps="nothing: numbat keeps everything in its pool",
        allocate="gpumem_numbat.allocate:allocate",
        out_of_memory=(r"^MemoryError: numbat: ",),
    )


@hookimpl
def gpumem_native(environ: Mapping[str, str]) -> NativeReading:
    """Read what the user's own variables mean to numbat."""
    return read_variables(environ)


@hookimpl
def gpumem_state() -> FrameworkState:
    """Find out whether numbat is imported and whether its pool exists, without importing it."""
    module = sys.modules.get(NAME)
    pool = getattr(module, "pool", None)
    started = callable(pool) and pool() is not None
    return FrameworkState(
        versions=installed_versions(["numbat"]),
        imported=Answer.NO if module is None else Answer.YES,
        started=Answer.YES if started else Answer.NO,
        evidence="numbat.pool() is " + ("made" if started else "not made"),
        observations=observe(module) if module is not None else (),
    )


@hookimpl
def gpumem_plan(settings: FrameworkSettings, budgets: Budgets) -> Plan:
    """Translate the policy."""
    return translate(settings, budgets)


@hookimpl
def gpumem_observe(module: ModuleType) -> tuple[Observation, ...]:
    """Read back what is in force."""
    return observe(module)
