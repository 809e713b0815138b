"""Simulated NVIDIA devices: real frameworks ask for memory, and a test reads what they asked."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpumem_simgpu.errors import SimulationError
    from gpumem_simgpu.faults import (
        FailInit,
        Fault,
        LoseDevice,
        OtherProcess,
        RefuseRequest,
        SlowDriver,
        parse_fault,
    )
    from gpumem_simgpu.gpus import SimulatedGpus
    from gpumem_simgpu.memory_log import SimulatedLog
    from gpumem_simgpu.memory_use import MemoryUse, SimulatedProcess
    from gpumem_simgpu.prepared import Prepared, prepare
    from gpumem_simgpu.profile import Profile, profiles
    from gpumem_simgpu.simulated_run import Request, SimulatedRun

__all__ = [
    "FailInit",
    "Fault",
    "LoseDevice",
    "MemoryUse",
    "OtherProcess",
    "Prepared",
    "Profile",
    "RefuseRequest",
    "Request",
    "SimulatedGpus",
    "SimulatedLog",
    "SimulatedProcess",
    "SimulatedRun",
    "SimulationError",
    "SlowDriver",
    "parse_fault",
    "prepare",
    "profiles",
]

_PLACES = {
    "errors": ("SimulationError",),
    "faults": ("FailInit", "Fault", "LoseDevice", "OtherProcess", "RefuseRequest", "SlowDriver", "parse_fault"),
    "gpus": ("SimulatedGpus",),
    "memory_log": ("SimulatedLog",),
    "memory_use": ("MemoryUse", "SimulatedProcess"),
    "prepared": ("Prepared", "prepare"),
    "profile": ("Profile", "profiles"),
    "simulated_run": ("Request", "SimulatedRun"),
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a name when it is used: the pytest plugin is loaded in every test run, and most need none of them."""
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
