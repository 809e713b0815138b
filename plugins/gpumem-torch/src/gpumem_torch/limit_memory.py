"""The call that limits PyTorch's allocator on a device, or on all devices without a limit of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from gpumem.plugin import Progress, RuntimeCall, Undo, human
from gpumem_torch.call_record import RECORD
from gpumem_torch.fractions_of_total import chosen_fraction, fraction_for
from gpumem_torch.imported import DEFAULT_SEGMENT, Torch, UnreadableError
from gpumem_torch.remember_fractions import forget, remember
from gpumem_torch.when_cuda_starts import AtCudaStart

NAME = "limit_memory"


class LimitCall:
    """One limit, from its plan to its removal.

    The arguments of the call: ``device`` (None for all others), ``except`` (devices with a limit of their own),
    ``bounds`` (pairs of a share of the total and bytes; none removes the limit), ``at_most`` (the bytes that the plan
    expects, None where it could not know), ``in_shares`` (whether it is verified as a share).
    """

    def __init__(self, torch: Torch, call: RuntimeCall) -> None:
        """Read the arguments."""
        self.torch = torch
        self.device = cast("int | None", call.arguments["device"])
        self.but = cast("Sequence[int]", call.arguments["except"])
        self.bounds = cast("Sequence[Sequence[float]]", call.arguments["bounds"])
        self.at_most = cast("int | None", call.arguments["at_most"])
        self.in_shares = bool(call.arguments["in_shares"])
        self.before: dict[int, float] = {}

    def set(self) -> str:
        """Set the limit. CUDA runs or is starting."""
        if self.torch.backend not in {"native", "cudaMallocAsync"}:
            message = (
                f"PyTorch allocates through another allocator ({self.torch.backend}), which knows no limit: "
                "give the limit to that allocator"
            )
            raise UnreadableError(message)
        count = self.torch.count()
        if self.device is not None and self.device >= count:
            message = f"PyTorch sees {count} devices, so there is no device {self.device}"
            raise UnreadableError(message)
        devices = [self.device] if self.device is not None else [d for d in range(count) if d not in self.but]
        if self.device is not None:
            RECORD.alone.add(self.device)
        if self.in_shares:
            RECORD.in_shares.add(self.device)
        if not self.torch.reads_limits:
            remember(self.torch.c)
        margin = self.margin()
        return "; ".join(self.set_on(device, margin) for device in devices)

    def margin(self) -> int:
        """Return how far below the limit to stay: with expandable segments PyTorch overshoots by up to one segment.

        It asks whether a request fits and then maps whole segments of 20 MiB (4102 MiB were mapped under 4096).
        """
        try:
            return self.torch.segment() if self.torch.expandable() else 0
        except UnreadableError:  # better a little less than over the limit
            return DEFAULT_SEGMENT

    def set_on(self, device: int, margin: int) -> str:
        """Set the limit on one device; return a sentence for the report."""
        try:
            self.before[device] = min(self.torch.fraction(device), 1.0)
        except UnreadableError:
            self.before[device] = 1.0
        total = self.torch.total(device)
        fraction = chosen_fraction(self.bounds, total, margin) if self.bounds else 1.0
        if self.at_most is not None and round(fraction * total) > self.at_most:
            fraction = fraction_for(self.at_most, total)  # CUDA's total is above the one that NVML told
        self.torch.set_fraction(device, fraction)
        RECORD.allowed[device] = allowed = int(fraction * total)
        below = f", {human(margin)} below what was asked because segments are expandable" if margin else ""
        return f"fraction {fraction:.9g} of {human(total)} on device {device}, {allowed} bytes{below}"

    def take_back(self) -> None:
        """Restore the fractions from before."""
        for device, fraction in self.before.items():
            self.torch.set_fraction(device, fraction)
            RECORD.allowed.pop(device, None)
        self.before.clear()
        if not self.torch.reads_limits:
            forget(self.torch.c)
        if self.device is not None:
            RECORD.alone.discard(self.device)
        RECORD.in_shares.discard(self.device)


def limit_memory(torch: Torch, call: RuntimeCall, progress: Progress) -> Undo:
    """Carry the call out when CUDA starts, or now if it runs."""
    limit = LimitCall(torch, call)
    start = AtCudaStart(torch, limit.set, progress)
    start.arrange()

    def undo() -> None:
        start.cancel()
        limit.take_back()

    return undo
