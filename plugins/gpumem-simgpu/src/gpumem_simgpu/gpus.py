"""The simulated devices as a test describes them, and running a program on them."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gpumem_simgpu import field_values
from gpumem_simgpu.device_list import Device, parse_devices, parse_sizes
from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.faults import Fault
from gpumem_simgpu.field_values import Nvml
from gpumem_simgpu.log_file import read_events
from gpumem_simgpu.program import run_program
from gpumem_simgpu.simulated_run import SimulatedRun
from gpumem_simgpu.variables import Machine

_PYTHON = re.compile(r"python(\d+(\.\d+)?)?")
# The programs on one machine share these; a machine inside a machine has its own.
_NOT_THE_MACHINES = frozenset({"SIMGPU_TRACE"})


@dataclass(frozen=True)
class SimulatedGpus:
    """One machine's simulated devices.

    Sizes are texts such as "16GiB" or whole numbers of bytes; a list of them has one for each device, in bus
    order, or a single one for all, and "2x16GiB" stands for two.

    Args:
        devices: the memory of each as CUDA reports it ("2x16GiB", "8GiB,16GiB"), or kinds of cards ("2xT4",
            "a100-80gb,16GiB", see ``profiles()``), or files that describe a card ("./card.toml").
        nvml_total: the memory of each as NVML reports it, where that differs.
        context: the memory that each CUDA context takes.
        granularity: what requests are rounded up to, "2MiB" by default; 1 charges exactly what was asked for.
        order: CUDA's order of the devices while CUDA_DEVICE_ORDER is not PCI_BUS_ID, as bus numbers.
        names: the name of each device, in bus order.
        shared_state: a file by which separate runs share the devices; each run has its own by default.
        nvml: "missing" and "mismatch" (it cannot be initialised), "no-permission" (its handles cannot be had),
            "unsupported" (it tells neither memory nor processes), "no-sizes" (it lists processes without sizes).
        faults: what goes wrong, as values (``RefuseRequest(3)``) or texts ("alloc=3").
        driver_version: the CUDA version of the driver: "12.4", or 12040 as CUDA counts.
        python: the interpreter whose frameworks run; by default the one that a command starts, else this one.

    Raises:
        SimulationError: a value describes no machine; the message says which, why, and what to write.

    """

    devices: str = "2x16GiB"
    nvml_total: str | None = None
    context: str | None = None
    granularity: str | int | None = None
    order: Sequence[int] | None = None
    names: Sequence[str] | None = None
    shared_state: Path | str | None = None
    nvml: Nvml = "present"
    faults: Sequence[Fault | str] | Fault | str = ()
    driver_version: str | int | None = None
    python: str | None = None

    def __post_init__(self) -> None:
        """Check every value now, where the fault is, and not in the program that meets it."""
        _ = self.machine
        if self.shared_state is not None and not Path(self.shared_state).absolute().parent.is_dir():
            message = f'shared_state: the folder of "{self.shared_state}" does not exist; make it first'
            raise SimulationError(message)

    @cached_property
    def machine(self) -> Machine:
        """The devices with everything that was said about them, in bytes."""
        devices = self._devices()
        return Machine(
            devices=devices,
            granularity=field_values.granularity(self.granularity),
            order=field_values.order(self.order, len(devices)),
            names=field_values.names(self.names, len(devices)),
            nvml=field_values.nvml(self.nvml),
            faults=field_values.faults(self.faults, len(devices)),
            driver_version=field_values.driver_version(self.driver_version),
        )

    def _devices(self) -> tuple[Device, ...]:
        devices = parse_devices(self.devices)
        count = len(devices)
        if self.context is not None:
            contexts = parse_sizes(self.context, "context", count, zero=True)
            devices = tuple(replace(one, context=size) for one, size in zip(devices, contexts, strict=True))
        if self.nvml_total is not None:
            totals = parse_sizes(self.nvml_total, "nvml_total", count)
            devices = tuple(replace(one, nvml_memory=size) for one, size in zip(devices, totals, strict=True))
        for number, device in enumerate(devices):
            if device.nvml_memory < device.memory:
                message = (
                    f"nvml_total: device {number} has {device.nvml_memory} bytes by NVML and {device.memory} by CUDA; "
                    "NVML reports all memory, so write at least as much"
                )
                raise SimulationError(message)
            if device.context > device.memory:
                message = f"context: {device.context} bytes are more than device {number} has ({device.memory})"
                raise SimulationError(message)
        return devices

    def environment(self, base: Mapping[str, str] | None = None, log: Path | None = None) -> dict[str, str]:
        """Return ``base`` (default: this process's environment) with what puts a program on these devices.

        Search paths are put before those of ``base``, its other variables are kept. Only where ``base`` is
        that of a program on other simulated devices, their SIMGPU_* variables do not reach this machine.
        """
        # Building is imported when something runs: describing a machine must be cheap.
        from gpumem_simgpu.prepared import prepare

        prepared = prepare(self.python)
        environment = _without_outer_machine(os.environ if base is None else base)
        for variable, separator, parts in (
            ("LD_PRELOAD", " ", prepared.preload),
            ("LD_LIBRARY_PATH", ":", prepared.library_path),
            ("PYTHONPATH", ":", prepared.python_path),
        ):
            merged = _before(parts, environment.get(variable, ""), separator)
            if merged:
                environment[variable] = merged
        environment.update(self.machine.variables())
        if self.shared_state is not None:
            # The program may be started in another folder, or change it.
            environment["SIMGPU_STATE"] = str(Path(self.shared_state).absolute())
        if log is not None:
            environment["SIMGPU_LOG"] = str(Path(log).absolute())
        # Its check looks for NVIDIA's wheels beside the plugin; nothing here needs them.
        environment["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
        return environment

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        timeout: float | None = 300,
        stream: bool = False,
    ) -> SimulatedRun:
        """Run a command to its end and return what it asked for.

        ``env`` is added to this process's own environment. A command that takes longer than ``timeout``
        seconds is ended with all its children, and subprocess.TimeoutExpired is raised. With ``stream`` the
        program reads and writes this process's own input and outputs, and the run's texts are empty.
        """
        with tempfile.TemporaryDirectory(prefix="gpumem-simgpu-") as folder:
            log = Path(folder, "log")
            gpus = self.for_command(argv[0])
            environment = gpus.environment({**os.environ, **(env or {})}, log)
            if self.shared_state is None:
                # The program's children are on the same machine, so they find the same memory taken.
                environment["SIMGPU_STATE"] = str(Path(folder, "state"))
            done = run_program(argv, environment, cwd, timeout, stream=stream)
            return SimulatedRun(done.returncode, done.stdout, done.stderr, read_events(log))

    def for_command(self, command: str) -> SimulatedGpus:
        """Return the same devices, for the interpreter that a command starts if it starts one."""
        if self.python is not None or not _PYTHON.fullmatch(Path(command).name):
            return self
        return replace(self, python=command)


def _without_outer_machine(base: Mapping[str, str]) -> dict[str, str]:
    if "SIMGPU_DEVICES" not in base:
        return dict(base)
    return {name: value for name, value in base.items() if not name.startswith("SIMGPU_") or name in _NOT_THE_MACHINES}


def _before(parts: Sequence[str], present: str, separator: str) -> str:
    """Put ``parts`` before what a search path holds; a nested simulation changes nothing."""
    # The loader splits LD_PRELOAD at spaces and at colons.
    found = re.split(r"[ :]" if separator == " " else ":", present)
    return separator.join([*parts, *(part for part in found if part and part not in parts)])
