"""The call that takes memory ahead: one block, allocated and freed, so that it stays in PyTorch's cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from gpumem.plugin import Progress, RuntimeCall, Undo, human
from gpumem_torch.call_record import RECORD
from gpumem_torch.fractions_of_total import limit_in_bytes
from gpumem_torch.imported import MIB, Torch, UnreadableError
from gpumem_torch.when_cuda_starts import AtCudaStart

NAME = "take_ahead"
GRANULE: Final = 2 * MIB
"""PyTorch rounds large requests up to this (`kRoundLarge`, c10/core/AllocatorConfig.h)."""


def room_below(limit: int, segment: int) -> int:
    """Return the bytes that stay free for tensors that cannot use the block, at least a large and a small segment.

    Tensors below 1 MiB live in segments of 2 MiB of their own (`kSmallSize`, `kSmallBuffer`, AllocatorConfig.h) and
    cannot use the block; without room for them PyTorch would run out of memory while the block is nearly empty.
    """
    return max(segment + GRANULE, min(limit // 32, 256 * MIB))


class TakeAhead:
    """Memory taken ahead on one device.

    The arguments of the call: ``device`` (None for the only or the launcher's local one), ``local`` (the launcher's
    local rank or None), ``except`` (devices that the policy treats otherwise), ``amount`` (bytes, None for the whole
    limit), ``bounds`` (the limit as in `limit_memory`, empty for none).
    """

    def __init__(self, torch: Torch, call: RuntimeCall) -> None:
        """Read the arguments."""
        self.torch = torch
        self.device = cast("int | None", call.arguments["device"])
        self.local = cast("int | None", call.arguments["local"])
        self.but = cast("Sequence[int]", call.arguments["except"])
        self.amount = cast("int | None", call.arguments["amount"])
        self.bounds = cast("Sequence[Sequence[float]]", call.arguments["bounds"])
        self.taken_on: int | None = None

    def chosen_device(self) -> int | None:
        """Return the device, None where the policy treats it otherwise."""
        count = self.torch.count()
        if self.device is not None:
            if self.device >= count:
                message = f"PyTorch sees {count} devices, so there is no device {self.device}"
                raise UnreadableError(message)
            return self.device
        if count == 1:
            device = 0
        elif self.local is not None:
            device = self.local % count
        else:
            message = (
                f"PyTorch sees {count} devices and does not tell which one is used first: name the one to take memory "
                "on in the policy (devices.0.preallocate), or leave one visible with CUDA_VISIBLE_DEVICES"
            )
            raise UnreadableError(message)
        return None if device in self.but else device

    def take(self) -> str:
        """Take the memory. CUDA runs or is starting, and the limit is set already."""
        device = self.chosen_device()
        if device is None:
            return "the policy treats this device by itself"
        if self.torch.backend == "native":
            settings = self.torch.settings()
            if settings.get("max_split_size", -1) not in {-1, None}:
                raise UnreadableError("with max_split_size_mb PyTorch could not use a large block for smaller tensors")
            if self.torch.caches is False:
                raise UnreadableError("PyTorch does not cache memory here, so nothing can be taken ahead")
        size = self.size_on(device)
        if size > 0:
            pointer = self.torch.module.cuda.caching_allocator_alloc(size, device)
            self.torch.module.cuda.caching_allocator_delete(pointer)
        held = self.torch.held(device) or 0
        if held < size:
            message = f"{size} bytes were taken ahead on device {device}, but only {held} stayed in the cache"
            raise UnreadableError(message)
        RECORD.taken[device] = held
        self.taken_on = device
        return f"{human(held)} held on device {device}"

    def size_on(self, device: int) -> int:
        """Return how much is still to be taken, a multiple of 2 MiB below the limit."""
        size = self.amount
        if self.bounds:
            total = self.torch.total(device)
            limit = min(limit_in_bytes(self.bounds, total), total, RECORD.allowed.get(device, total))
            most = limit - room_below(limit, self.torch.segment())
            size = most if size is None else min(size, most)
        if size is None:
            raise UnreadableError("there is no limit to take ahead")
        return (size - (self.torch.held(device) or 0)) // GRANULE * GRANULE


def take_ahead(torch: Torch, call: RuntimeCall, progress: Progress) -> Undo:
    """Carry the call out when CUDA starts, or now if it runs. Taking it back leaves the cache as it is."""
    ahead = TakeAhead(torch, call)
    start = AtCudaStart(torch, ahead.take, progress)
    start.arrange()

    def undo() -> None:
        start.cancel()
        if ahead.taken_on is not None:
            RECORD.taken.pop(ahead.taken_on, None)

    return undo
