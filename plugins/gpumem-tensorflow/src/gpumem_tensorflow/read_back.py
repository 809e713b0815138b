"""Reads from TensorFlow's started context what is in force. Starts nothing and changes nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from gpumem_tensorflow.context_view import Context, visible_gpus
from gpumem_tensorflow.context_view import ordinal as ordinal_of
from gpumem_tensorflow.variables import ALLOCATOR, GROWTH, VARIABLES, read_allocator, read_growth

LIMIT_SOURCE = "TF_DeviceListMemoryBytes(TFE_ContextListDevices())"

_UNSEEN = "TensorFlow read it at its start, which gpumem did not see, and does not tell what it read"


@dataclass(frozen=True, slots=True)
class StartRecord:
    """What TensorFlow read when its context was created. It tells neither growth nor allocator afterwards.

    Attributes:
        variables: its memory variables as they were then.
        allow_growth: what its ConfigProto said.
        unified_memory: whether the ConfigProto asked for managed memory.
        async_allocator: whether the ConfigProto asked for cuda_malloc_async.
        certain: True where the guard saw the start; False where this is what stands there now.
    """

    variables: Mapping[str, str]
    allow_growth: bool
    unified_memory: bool
    async_allocator: bool
    certain: bool


def take_record(context: Context, *, certain: bool) -> StartRecord:
    """Return what TensorFlow reads now; only for a context whose devices are listed."""
    # The property puts the pieces together and starts nothing (context.py, Context.config).
    options: Any = context.config.gpu_options  # type: ignore[attr-defined]
    return StartRecord(
        variables={name: os.environ[name] for name in VARIABLES if name in os.environ},
        allow_growth=bool(options.allow_growth),
        unified_memory=bool(options.experimental.use_unified_memory) or options.per_process_gpu_memory_fraction > 1,
        async_allocator=bool(options.experimental.use_cuda_malloc_async),
        certain=certain,
    )


def growth_in_force(record: StartRecord) -> tuple[bool | None, str]:
    """Return whether memory grows, None where nobody can know, and the source or the reason."""
    by_variable = read_growth(record.variables)
    if record.certain or by_variable in (None, record.allow_growth) or _same_since_exec(GROWTH):
        seen = "as seen at TensorFlow's start" if record.certain else "as it is now"
        if by_variable is None:
            return record.allow_growth, f"ConfigProto's allow_growth, {seen} (TensorFlow has no read-back of growth)"
        return by_variable, f"TF_FORCE_GPU_ALLOW_GROWTH, {seen} (TensorFlow has no read-back of growth)"
    return None, f"TF_FORCE_GPU_ALLOW_GROWTH is {record.variables[GROWTH]!r} now, but {_UNSEEN}"


def allocator_in_force(record: StartRecord) -> tuple[str | None, str]:
    """Return the policy's word for the allocator, None where nobody can know, and the source or the reason."""
    seen = "as seen at TensorFlow's start" if record.certain else "as it is now"
    word = read_allocator(record.variables)
    if not record.certain and word not in (None, "pool") and not _same_since_exec(ALLOCATOR):
        return None, f"TF_GPU_ALLOCATOR is {record.variables[ALLOCATOR]!r} now, but {_UNSEEN}"
    source = f"TF_GPU_ALLOCATOR and ConfigProto, {seen} (TensorFlow has no read-back of the allocator)"
    if word in ("async", "direct"):
        return word, source
    if record.async_allocator:
        return "async", source
    return ("managed" if record.unified_memory else "pool"), source


def _same_since_exec(name: str) -> bool:
    """Tell whether a variable has the value it had when this process began (Linux keeps that block unchanged)."""
    try:
        block = Path("/proc/self/environ").read_bytes()
    except OSError:
        return False
    return os.fsencode(f"{name}={os.environ.get(name, '')}") in block.split(b"\0")


def device_limits(module: ModuleType, context: Context) -> dict[int, int] | str:
    """Return the limit in bytes per GPU, summed over its logical devices, or a reason why that cannot be told.

    This is the limit of the allocator itself, not an echo of what was asked: TensorFlow makes one allocator per
    GPU and process, and later wishes are accepted and ignored (gpu_process_state.cc, GetGPUAllocator).
    """
    amounts = _logical_amounts(module, context)
    devices = visible_gpus(context)
    if len(devices) == 1:
        return {ordinal_of(devices[0]): sum(amounts)}
    counts = [max(1, len(context._virtual_device_map.get(device, ()))) for device in devices]
    ordered = any(
        item.experimental_device_ordinal is not None
        for device in devices
        for item in context._virtual_device_map.get(device, ())
    )
    if sum(counts) != len(amounts) or (ordered and len(amounts) > len(devices)):
        return f"{len(amounts)} logical GPUs cannot be assigned to {len(devices)} GPUs for certain"
    found = {}
    position = 0
    for device, count in zip(devices, counts, strict=True):
        found[ordinal_of(device)] = sum(amounts[position : position + count])
        position += count
    return found


def _logical_amounts(module: ModuleType, context: Context) -> list[int]:
    """Return the limits in bytes of this process's logical GPUs in their order."""
    tfe: Any = module.pywrap_tfe
    session: Any = sys.modules["tensorflow.python.client.pywrap_tf_session"]
    listed = tfe.TFE_ContextListDevices(context._context_handle)
    try:
        return [
            int(session.TF_DeviceListMemoryBytes(listed, index))
            for index in range(tfe.TF_DeviceListCount(listed))
            if tfe.TF_DeviceListType(listed, index) == "GPU"
            and _is_local(context, tfe.TF_DeviceListName(listed, index))
        ]
    finally:
        tfe.TF_DeleteDeviceList(listed)


def _is_local(context: Context, name: str) -> bool:
    """Tell whether a device is of this process rather than of another task of the cluster."""
    server = getattr(context, "_server_def", None) or getattr(context, "_collective_ops_server_def", None)
    if server is None:
        return True
    parts = name.split("/")
    return f"job:{server.job_name}" in parts and f"task:{server.task_index}" in parts
