"""What PyTorch itself says is in force. Nothing here initialises CUDA or makes a context."""

from __future__ import annotations

import os
from types import ModuleType

from gpumem.plugin import Observation
from gpumem_torch.call_record import RECORD
from gpumem_torch.imported import Torch, UnreadableError
from gpumem_torch.keys import KEYS
from gpumem_torch.variables import NO_CACHING, caching_is_off

NOT_STARTED = "PyTorch has not started CUDA"


def observe(module: ModuleType) -> tuple[Observation, ...]:
    """Return what PyTorch reports; before CUDA starts that is the backend of the allocator and nothing else."""
    torch = Torch(module)
    if not torch.for_cuda:
        return ()
    if torch.bad_fork or not (torch.cuda_started or torch.allocator_started):
        return (
            Observation("limit", None, None, "torch.cuda.is_initialized()", NOT_STARTED),
            Observation("preallocate", None, None, "torch.cuda.is_initialized()", NOT_STARTED),
            _allocator_before_start(torch),
        )
    return (*_limits(torch), *_taken(torch), _allocator(torch), *_options(torch))


def _allocator_before_start(torch: Torch) -> Observation:
    source = "torch.cuda.get_allocator_backend()"
    if torch.backend == "cudaMallocAsync":
        return Observation("allocator", None, "async", source)
    if torch.backend != "native":
        return Observation("allocator", None, torch.backend, source)
    why = "the backend is native; PyTorch reads the rest of its configuration when CUDA starts"
    return Observation("allocator", None, None, source, why)


def _allocator(torch: Torch) -> Observation:
    source = "torch.cuda.get_allocator_backend()"
    if torch.backend != "native":
        word = "async" if torch.backend == "cudaMallocAsync" else torch.backend
        return Observation("allocator", None, word, source)
    if torch.caches is False:
        return Observation("allocator", None, "direct", "torch._C._cuda_cudaCachingAllocator_is_enabled()")
    if torch.caches is None and caching_is_off(os.environ, torch.release):
        why = f"{NO_CACHING} is set, and PyTorch {torch.version} does not tell whether it took it"
        return Observation("allocator", None, None, source, why)
    try:
        word = "vmm" if torch.expandable() else "pool"
    except UnreadableError as error:
        return Observation("allocator", None, None, source, str(error))
    return Observation("allocator", None, word, f"{source} and the allocator's own settings")


def _limits(torch: Torch) -> tuple[Observation, ...]:
    if not torch.cuda_started:
        why = "PyTorch has started its allocator, but not CUDA: for pinned memory, or because its start failed"
        return (Observation("limit", None, None, "torch.cuda.is_initialized()", why),)
    devices = range(torch.count())
    each = {device: _limit(torch, device) for device in devices}
    others = [each[device] for device in devices if device not in RECORD.alone]
    return (*each.values(), *_for_all_others(others))


def _limit(torch: Torch, device: int) -> Observation:
    source = f"torch.cuda.get_per_process_memory_fraction({device})"
    if not torch.reads_limits:
        source = f"the last torch.cuda.set_per_process_memory_fraction(..., {device})"
    held = torch.held(device)
    if torch.backend == "native" and torch.caches is False:
        # 0 stands for "no limit" in observations.
        return Observation("limit", device, 0, f"{NO_CACHING}: no limit holds without the cache", held=held)
    try:
        fraction = torch.fraction(device)
    except UnreadableError as error:
        return Observation("limit", device, None, source, str(error), held)
    budget = device if device in RECORD.alone else None
    if budget in RECORD.in_shares:
        return Observation("limit", device, fraction, source, held=held)
    # PyTorch returns allowed / total; above 1 it means no limit (cudaMallocAsync without one returns 2**64 / total).
    return Observation("limit", device, round(fraction * torch.total(device)), source, held=held)


def _for_all_others(each: list[Observation]) -> tuple[Observation, ...]:
    """Return the loosest limit of the devices that have none of their own, for plans that name no device."""
    if not each:
        return ()
    held = max((item.held for item in each if item.held is not None), default=None)
    numbers = [item for item in each if isinstance(item.value, int | float)]
    if not numbers:
        return (Observation("limit", None, None, each[0].source, each[0].why, held),)
    # 0 means no limit, so it is the loosest of all.
    loosest = max(numbers, key=lambda item: float("inf") if item.value == 0 else float(str(item.value)))
    return (Observation("limit", None, loosest.value, loosest.source, held=held),)


def _taken(torch: Torch) -> tuple[Observation, ...]:
    """Return whether memory was taken ahead: told by the call that took it, and what is held now."""
    if not torch.cuda_started:
        return (Observation("preallocate", None, None, "torch.cuda.is_initialized()", NOT_STARTED),)
    found = []
    for device in range(torch.count()):
        taken = RECORD.taken.get(device)
        source = f"torch.cuda.memory_reserved({device}): {torch.held(device) or 0} bytes now"
        if taken is not None:
            source += f", {taken} bytes right after they were taken ahead"
        found.append(Observation("preallocate", device, taken is not None, source))
    somewhere = next((item for item in found if item.value), found[0] if found else None)
    if somewhere is not None:
        found.append(Observation("preallocate", None, somewhere.value, somewhere.source))
    return tuple(found)


def _options(torch: Torch) -> tuple[Observation, ...]:
    source = "the allocator's own settings"
    try:
        values = torch.configured()
    except UnreadableError as error:
        return tuple(Observation(f"options.{name}", None, None, source, str(error)) for name in KEYS)
    if torch.backend in {"native", "cudaMallocAsync"}:
        values["backend"] = torch.backend
    return tuple(
        Observation(f"options.{name}", None, values[name], source)
        if name in values
        else Observation(f"options.{name}", None, "not set", source)
        for name in KEYS
    )
