"""Sets on TensorFlow's context, just before it starts, what the policy asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, Literal

from gpumem.plugin import Device, Devices
from gpumem_tensorflow.context_view import Context, LogicalDeviceConfiguration, PhysicalDevice, gpus, limits, ordinal
from gpumem_tensorflow.logical_devices import MB, Bounds, fit, limit_in_bytes, megabytes, sum_in_bytes


class StartRefusedError(Exception):
    """TensorFlow was kept from starting, since a limit of the policy cannot be set.

    It derives from Exception alone: an `except RuntimeError` around the first operation must not swallow it.
    """


def set_visible(context: Context, wanted: Literal["all"] | Sequence[int]) -> None:
    """Make exactly the wanted GPUs visible. A hidden GPU gets no CUDA context.

    Works without any GPU and in a build without GPU support.

    Raises:
        StartRefusedError: TensorFlow lists GPUs, but not all that are wanted; the others are visible then.
    """
    found = {ordinal(device): device for device in gpus(context)}
    if wanted == "all":
        context.set_visible_devices(list(found.values()), "GPU")
        return
    context.set_visible_devices([found[number] for number in sorted(wanted) if number in found], "GPU")
    missing = [number for number in wanted if number not in found]
    if missing and found:
        raise StartRefusedError(missing_gpu(missing, found))


def missing_gpu(missing: Sequence[int], found: Mapping[int, PhysicalDevice]) -> str:
    """Say that the policy names GPUs which TensorFlow does not list, and why that may be."""
    numbers = ", ".join(str(number) for number in missing)
    return (
        f"the policy names GPU {numbers}, but TensorFlow lists {sorted(found) or 'none'}; CUDA_VISIBLE_DEVICES "
        "hides GPUs, and TensorFlow leaves out small ones (TF_MIN_GPU_MULTIPROCESSOR_COUNT)"
    )


def set_limit(
    module: ModuleType,
    context: Context,
    device: PhysicalDevice,
    bounds: Bounds,
    share: float | None,
    planned: int | None,
    devices: Devices,
) -> tuple[int, str]:
    """Hold a GPU to a limit by logical devices.

    Args:
        module: TensorFlow's module of the context.
        context: the context, not started, whose devices are listed.
        device: the GPU.
        bounds: the limit.
        share: the limit as a share where the total was not known for certain when it was planned.
        planned: the limit in bytes as it was planned, which the limit never exceeds but as a share.
        devices: the devices with the driver's totals.

    Returns:
        the limit in bytes, and a note where the program had logical devices of its own.

    Raises:
        StartRefusedError: the limit cannot be set.
    """
    number = ordinal(device)
    limit = _limit(bounds, share, planned, devices, number)
    if limit is None:
        message = f"the limit of GPU {number} needs its total, which neither NVML nor CUDA tells: write a cap in bytes"
        raise StartRefusedError(message)
    fraction = config_fraction(context)
    if 0 < fraction <= 1 and (total := _total(devices, number)) is not None:
        limit = min(limit, int(total * fraction))
    if megabytes(limit) < 1:
        message = f"the limit of GPU {number} is {limit} bytes, and TensorFlow counts whole MB of {MB} bytes"
        raise StartRefusedError(message)
    if context._virtual_device_map.get(device):
        return limit, _hold_split(module, context, device, limit)
    _configure(module, context, device, (megabytes(limit),), ())
    return limit, ""


def _limit(bounds: Bounds, share: float | None, planned: int | None, devices: Devices, number: int) -> int | None:
    """Return the limit with the driver's own total, which differs from NVML's; None where it cannot be told."""
    known = limit_in_bytes(bounds, _total(devices, number)) if devices.source == "cuda" or planned is None else planned
    if known is None or planned is None or (share is not None and devices.source == "cuda"):
        return planned if known is None else known
    return min(known, planned)


def _hold_split(module: ModuleType, context: Context, device: PhysicalDevice, limit: int) -> str:
    """Keep the program's own logical devices where their sum is within the limit, else make them smaller."""
    own = limits(context, device)
    held = sum_in_bytes(own)
    text = " + ".join(f"{item:g}" for item in own)
    if held is not None and held <= limit:
        return f"the program's own logical devices ({text} MB) are within the limit and stay"
    parts = fit(own, limit)
    if parts is None:
        message = f"GPU {ordinal(device)} is split into {len(own)} logical devices, too many for {limit} bytes"
        raise StartRefusedError(message)
    _configure(module, context, device, parts, context._virtual_device_map[device])
    smaller = " + ".join(str(part) for part in parts)
    return f"the program's own logical devices ({text} MB) exceed the limit and were made smaller: {smaller} MB"


def _configure(
    module: ModuleType,
    context: Context,
    device: PhysicalDevice,
    parts: Sequence[int],
    like: Sequence[LogicalDeviceConfiguration],
) -> None:
    """Set logical devices with limits in MB, with the priorities and ordinals of `like` where given."""
    made: list[LogicalDeviceConfiguration] = []
    for index, part in enumerate(parts):
        own = like[index] if like else None
        configuration = module.LogicalDeviceConfiguration(
            memory_limit=part,
            experimental_priority=own.experimental_priority if own else None,
            experimental_device_ordinal=own.experimental_device_ordinal if own else None,
        )
        made.append(configuration)
    try:
        context.set_logical_device_configuration(device, made)
    except (ValueError, RuntimeError) as error:  # a device that a vendor's plug-in drives; a context that has started
        message = f"TensorFlow refused a limit on GPU {ordinal(device)}: {error}"
        raise StartRefusedError(message) from error


def config_fraction(context: Context) -> float:
    """Return per_process_gpu_memory_fraction of the program's ConfigProto, 0 for none."""
    return 0.0 if context._config is None else float(context._config.gpu_options.per_process_gpu_memory_fraction)


def fit_config(module: ModuleType, context: Context, *, limited: bool, managed: bool) -> None:
    """Make the program's ConfigProto agree with the policy, on a copy.

    Logical devices and a fraction in the ConfigProto together end TensorFlow's start with an error
    (gpu_device.cc), and its use_cuda_malloc_async holds no limit.
    """
    if not (managed or (limited and context._config is not None)):
        return
    config: Any = module.config_pb2.ConfigProto()
    if context._config is not None:
        config.CopyFrom(context._config)
    if limited:
        config.gpu_options.per_process_gpu_memory_fraction = 0
        config.gpu_options.experimental.use_cuda_malloc_async = False
    if managed:
        config.gpu_options.experimental.use_unified_memory = True
    context._config = config


def _total(devices: Devices, number: int) -> int | None:
    known: Device | None = next((device for device in devices.found if device.ordinal == number), None)
    return known.total if known is not None else None
