"""What is read of TensorFlow's eager context, without creating or starting it.

The attributes have been the same from 2.10 to 2.21 (tensorflow/python/eager/context.py, class Context).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Protocol

CONTEXT_MODULE = "tensorflow.python.eager.context"


class PhysicalDevice(Protocol):
    """A device as TensorFlow lists it."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(Protocol):
    """What the program or gpumem wants of one logical device."""

    memory_limit: float
    experimental_priority: int | None
    experimental_device_ordinal: int | None


class Context(Protocol):
    """The part of TensorFlow's context that this plugin reads and sets."""

    _context_handle: object | None
    _initialized: bool
    _physical_devices: Sequence[PhysicalDevice] | None
    _pluggable_devices: Sequence[PhysicalDevice] | None
    _visible_device_list: Sequence[PhysicalDevice]
    _memory_growth_map: dict[PhysicalDevice, bool | None]
    _virtual_device_map: dict[PhysicalDevice, list[LogicalDeviceConfiguration]]
    _config: Any  # a ConfigProto, whose generated class has no static type

    def list_physical_devices(self, device_type: str | None = None) -> list[PhysicalDevice]: ...

    def set_visible_devices(self, devices: list[PhysicalDevice], device_type: str | None = None) -> None: ...

    def set_logical_device_configuration(
        self, dev: PhysicalDevice, virtual_devices: list[LogicalDeviceConfiguration]
    ) -> None: ...

    def ensure_initialized(self) -> None: ...


def context_module() -> ModuleType | None:
    """Return the module that holds the context, None unless TensorFlow is imported to the end."""
    top = sys.modules.get("tensorflow")
    if top is None or getattr(getattr(top, "__spec__", None), "_initializing", False):
        return None
    return sys.modules.get(CONTEXT_MODULE)


def current_context(module: ModuleType) -> Context | None:
    """Return the context object if there is one. `context()` of the module would create it."""
    context: Context | None = getattr(module, "_context", None)
    return context


def ordinal(device: PhysicalDevice) -> int:
    """Return the number of a device: the 1 of ``/physical_device:GPU:1``, which is CUDA's ordinal."""
    return int(device.name.rpartition(":")[2])


def gpus(context: Context) -> tuple[PhysicalDevice, ...]:
    """Return the GPUs that TensorFlow has found so far; empty before it looked."""
    return tuple(device for device in context._physical_devices or () if device.device_type == "GPU")


def visible_gpus(context: Context) -> tuple[PhysicalDevice, ...]:
    """Return the GPUs that TensorFlow will use or uses, in the order of their numbers."""
    return tuple(device for device in gpus(context) if device in context._visible_device_list)


def limits(context: Context, device: PhysicalDevice) -> tuple[float, ...]:
    """Return the limits in MB of the logical devices that are configured on a GPU; empty for none."""
    return tuple(item.memory_limit for item in context._virtual_device_map.get(device, ()))
