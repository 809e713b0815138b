"""The simulated devices, where gpumem-simgpu is installed; its errors with the exit code that they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpumem_core.cli.exit_codes import EXIT_OURS, EXIT_USAGE

if TYPE_CHECKING:
    from gpumem_simgpu import SimulatedGpus


class SimulatorError(Exception):
    """There can be no simulated device; the message says why and what to do.

    Attributes:
        code: the exit code: 2 where the description is wrong, 1 where it cannot be built here.
    """

    def __init__(self, text: str, code: int) -> None:
        """Keep both."""
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Simulator:
    """Simulated devices.

    Attributes:
        gpus: the devices.
        totals: bytes of each, in bus order.
        names: the name of each.
    """

    gpus: SimulatedGpus
    totals: tuple[int, ...]
    names: tuple[str, ...]

    def prepare(self) -> None:
        """Build what the interpreter's frameworks need; quick from the second time on.

        Raises:
            SimulatorError: it cannot be built here.
        """
        from gpumem_simgpu import SimulationError, prepare

        try:
            prepare(self.gpus.python)
        except SimulationError as error:
            raise SimulatorError(str(error), EXIT_OURS) from error

    def for_command(self, command: str) -> Simulator:
        """Return the same devices for the interpreter that a command starts, if it starts one."""
        return replace(self, gpus=self.gpus.for_command(command))


def simulator(devices: str, *, faults: Sequence[str] = (), nvml: str = "present") -> Simulator:
    """Return the devices of a description such as ``2x16GiB``; builds nothing yet.

    Raises:
        SimulatorError: gpumem-simgpu is not installed, or the description is wrong.
    """
    try:
        from gpumem_simgpu import SimulatedGpus, SimulationError
    except ImportError as error:
        text = f'the simulated GPU is not installed ({error.name}): pip install "gpumem-core[simulation]"'
        raise SimulatorError(text, EXIT_OURS) from error
    try:
        gpus = SimulatedGpus(devices, faults=tuple(faults), nvml=nvml)  # type: ignore[arg-type]
    except SimulationError as error:
        raise SimulatorError(str(error), EXIT_USAGE) from error
    built = gpus.machine.devices
    names = [device.profile.cuda_name if device.profile else "NVIDIA Simulated GPU" for device in built]
    return Simulator(gpus, tuple(device.memory for device in built), tuple(names))
