"""A machine as the SIMGPU_* variables that the simulated driver reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from gpumem_simgpu.device_list import Device
from gpumem_simgpu.profile import Profile
from gpumem_simgpu.sizes import size_text

DEFAULT_NAME = "NVIDIA Simulated GPU"


@dataclass(frozen=True)
class Machine:
    """Everything that processes on these devices share; None is left to the driver's own default.

    Attributes:
        devices: in bus order.
        granularity: bytes that requests are rounded up to.
        order: CUDA's order as bus numbers, while CUDA_DEVICE_ORDER is not PCI_BUS_ID.
        names: the name of each device, where they were given.
        nvml: how NVML behaves.
        faults: as the driver reads them.
        driver_version: the CUDA version of the driver, such as 13000.

    """

    devices: tuple[Device, ...]
    granularity: int | None
    order: tuple[int, ...]
    names: tuple[str, ...]
    nvml: str
    faults: tuple[str, ...]
    driver_version: int | None

    def variables(self) -> dict[str, str]:
        """Return the variables; what has the driver's default value is not among them."""
        devices = self.devices
        memory = [device.memory for device in devices]
        nvml = [device.nvml_memory for device in devices]
        context = [device.context for device in devices]
        told = {
            "SIMGPU_DEVICES": ",".join(_runs(size_text(size) for size in memory)),
            "SIMGPU_NVML_TOTAL": ",".join(_runs(size_text(size) for size in nvml)) if nvml != memory else "",
            "SIMGPU_CONTEXT": _one_for_all([size_text(size) for size in context]) if any(context) else "",
            "SIMGPU_GRANULARITY": "" if self.granularity is None else size_text(self.granularity),
            "SIMGPU_NAMES": ",".join(self._names()),
            "SIMGPU_CC": self._of_profiles(lambda one: one.compute_capability, "8.0"),
            "SIMGPU_SMS": self._of_profiles(lambda one: str(one.multiprocessors), "108"),
            "SIMGPU_POOLS": self._of_profiles(lambda one: _yes(one.memory_pools), "yes"),
            "SIMGPU_VMM": self._of_profiles(lambda one: _yes(one.virtual_memory), "yes"),
            "SIMGPU_MANAGED": self._of_profiles(lambda one: _yes(one.managed_memory), "yes"),
            "SIMGPU_INTEGRATED": self._of_profiles(lambda one: _yes(one.integrated), "no"),
            "SIMGPU_MIG": ",".join(device.mig for device in devices) if any(device.mig for device in devices) else "",
            "SIMGPU_FASTEST_FIRST": ",".join(map(str, self.order)),
            "SIMGPU_NVML": "" if self.nvml == "present" else self.nvml,
            "SIMGPU_FAULTS": ",".join(self.faults),
            "SIMGPU_DRIVER_VERSION": "" if self.driver_version is None else str(self.driver_version),
        }
        return {name: value for name, value in told.items() if value}

    def _names(self) -> Sequence[str]:
        if self.names:
            return self.names
        if all(device.profile is None for device in self.devices):
            return ()
        return [DEFAULT_NAME if device.profile is None else device.profile.cuda_name for device in self.devices]

    def _of_profiles(self, value: Callable[[Profile], str], default: str) -> str:
        """Return a property of each device; nothing when all have the driver's own."""
        if all(device.profile is None for device in self.devices):
            return ""
        values = [default if device.profile is None else value(device.profile) for device in self.devices]
        if set(values) == {default}:
            return ""
        return _one_for_all(values)


def _one_for_all(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else ",".join(values)


def _runs(words: Iterable[str]) -> Iterable[str]:
    for word, group in groupby(words):
        count = len(list(group))
        yield word if count == 1 else f"{count}x{word}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
