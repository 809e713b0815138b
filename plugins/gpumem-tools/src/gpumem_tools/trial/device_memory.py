"""What is in use on the first device that this process sees, as NVML says; starts nothing."""

from __future__ import annotations

import os
from typing import Any

from gpumem_core.devices.probe import probe_devices


class DeviceMemory:
    """The first visible device; every answer is None where NVML does not give it."""

    def __init__(self) -> None:
        """Find the device."""
        found = probe_devices(os.environ).found
        self._uuid = found[0].uuid if found else None

    def used(self) -> int | None:
        """Return the bytes in use there, by anybody."""
        memory = self._ask()
        return None if memory is None else int(memory.used)

    def free(self) -> int | None:
        """Return the bytes free there."""
        memory = self._ask()
        return None if memory is None else int(memory.free)

    def _ask(self) -> Any:
        import pynvml

        if self._uuid is None:
            return None
        try:
            pynvml.nvmlInit()
            return pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByUUID(self._uuid))
        except pynvml.NVMLError:
            return None
