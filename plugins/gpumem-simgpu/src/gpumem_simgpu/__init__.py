"""Simulated NVIDIA devices: real frameworks ask for memory, and a test reads what they asked."""

from __future__ import annotations

from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.gpus import SimulatedGpus
from gpumem_simgpu.prepare import Prepared, prepare
from gpumem_simgpu.simulated_run import Request, SimulatedRun

__all__ = ["Prepared", "Request", "SimulatedGpus", "SimulatedRun", "SimulationError", "prepare"]
