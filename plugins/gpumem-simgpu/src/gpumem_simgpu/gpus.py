"""The simulated devices as a test describes them, and running a program on them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gpumem_simgpu.prepare import prepare
from gpumem_simgpu.simulated_run import SimulatedRun, read_events

_PYTHON = re.compile(r"python(\d+(\.\d+)?)?")


@dataclass(frozen=True)
class SimulatedGpus:
    """One machine's simulated devices.

    Args:
        devices: the memory of each as CUDA reports it: "2x16GiB", "8GiB,16GiB".
        nvml_total: the memory of each as NVML reports it, where that differs.
        context: the memory that a process's first context on a device takes.
        order: CUDA's order of the devices while CUDA_DEVICE_ORDER is not PCI_BUS_ID, as bus numbers.
        names: the name of each device, in bus order.
        shared_state: a file by which separate runs share the devices; each run has its own by default.
        nvml: "missing" (it cannot be initialised) or "unsupported" (it does not tell memory).
        python: the interpreter whose frameworks run; by default the one that a command starts, else this one.

    """

    devices: str = "2x16GiB"
    nvml_total: str | None = None
    context: str = "0"
    order: Sequence[int] | None = None
    names: Sequence[str] | None = None
    shared_state: Path | str | None = None
    nvml: Literal["present", "missing", "unsupported"] = "present"
    python: str | None = None

    def environment(self, base: Mapping[str, str] | None = None, log: Path | None = None) -> dict[str, str]:
        """Return ``base`` (default: this process's environment) with what puts a program on these devices.

        Nothing of ``base`` is lost: search paths are put before its own, other variables are kept.
        """
        prepared = prepare(self.python)
        environment = dict(os.environ if base is None else base)
        for variable, separator, parts in (
            ("LD_PRELOAD", " ", prepared.preload),
            ("LD_LIBRARY_PATH", ":", prepared.library_path),
            ("PYTHONPATH", ":", prepared.python_path),
        ):
            merged = _before(parts, environment.get(variable, ""), separator)
            if merged:
                environment[variable] = merged
        environment.update(self._settings())
        if log is not None:
            environment["SIMGPU_LOG"] = str(log)
        # Its check looks for NVIDIA's wheels beside the plugin; nothing here needs them.
        environment["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
        return environment

    def _settings(self) -> dict[str, str]:
        settings = {
            "SIMGPU_DEVICES": self.devices,
            "SIMGPU_CONTEXT": self.context,
            "SIMGPU_NVML_TOTAL": self.nvml_total,
            "SIMGPU_FASTEST_FIRST": None if self.order is None else ",".join(map(str, self.order)),
            "SIMGPU_NAMES": None if self.names is None else ",".join(self.names),
            "SIMGPU_STATE": None if self.shared_state is None else str(self.shared_state),
            "SIMGPU_NVML": None if self.nvml == "present" else self.nvml,
        }
        return {name: value for name, value in settings.items() if value is not None}

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        timeout: float = 300,
    ) -> SimulatedRun:
        """Run a command to its end and return what it asked for.

        ``env`` is added to this process's own environment. A command that takes longer than ``timeout``
        seconds is ended with all its children, and subprocess.TimeoutExpired is raised.
        """
        with tempfile.TemporaryDirectory(prefix="gpumem-simgpu-") as folder:
            log = Path(folder, "log")
            gpus = self.for_command(argv[0])
            environment = gpus.environment({**os.environ, **(env or {})}, log)
            if self.shared_state is None:
                # The program's children are on the same machine, so they find the same memory taken.
                environment["SIMGPU_STATE"] = str(Path(folder, "state"))
            returncode, stdout, stderr = _finish(argv, environment, cwd, timeout)
            return SimulatedRun(returncode, stdout, stderr, read_events(log))

    def for_command(self, command: str) -> SimulatedGpus:
        """Return the same devices, for the interpreter that a command starts if it starts one."""
        if self.python is not None or not _PYTHON.fullmatch(Path(command).name):
            return self
        return replace(self, python=command)


def _before(parts: Sequence[str], present: str, separator: str) -> str:
    """Put ``parts`` before what a search path holds; a nested simulation changes nothing."""
    # The loader splits LD_PRELOAD at spaces and at colons.
    found = re.split(r"[ :]" if separator == " " else ":", present)
    return separator.join([*parts, *(part for part in found if part and part not in parts)])


def _finish(
    argv: Sequence[str], environment: Mapping[str, str], cwd: Path | str | None, timeout: float
) -> tuple[int, str, str]:
    with subprocess.Popen(
        list(argv),
        env=dict(environment),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        finally:
            # A program that does not end, or a child that outlives it, would hold on to its memory.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, stdout, stderr
