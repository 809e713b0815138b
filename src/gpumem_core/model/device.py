"""The devices a process sees, as far as they are known without starting anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU as the program sees it.

    Attributes:
        ordinal: its number in this process, after CUDA_VISIBLE_DEVICES.
        uuid: its UUID (``GPU-...`` or ``MIG-...``), None where unknown.
        name: the product name, None where unknown.
        total: memory in bytes, None where unknown.
        free: bytes free when it was asked, None where unknown.
    """

    ordinal: int
    uuid: str | None = None
    name: str | None = None
    total: int | None = None
    free: int | None = None


@dataclass(frozen=True, slots=True)
class Devices:
    """The list of devices and how far it can be trusted.

    Attributes:
        found: the devices in the order of their ordinals.
        complete: whether `found` is the whole list; False where nothing could be asked.
        source: who said so: ``cuda`` (the driver of this process, exact), ``nvml``, ``assumed``
            (declared with ``GPUMEM_ASSUME_DEVICES``) or ``unknown``.
        driver: whether this machine has an NVIDIA driver; None where that is unknown.
        ambiguous: a sentence where ordinals could not be matched to devices for certain, else empty.
        why: a sentence on what could not be asked and why, else empty.
        largest_card: where ambiguous, the total of the largest card that an ordinal may mean, else None.
    """

    found: tuple[Device, ...] = ()
    complete: bool = False
    source: Literal["cuda", "nvml", "assumed", "unknown"] = "unknown"
    driver: bool | None = None
    ambiguous: str = ""
    why: str = ""
    largest_card: int | None = None

    @property
    def smallest_total(self) -> int | None:
        """The smallest total in bytes over all devices, None where any total is unknown."""
        totals = [device.total for device in self.found]
        if not totals or any(total is None for total in totals):
            return None
        return min(total for total in totals if total is not None)

    def total(self, ordinal: int) -> int | None:
        """Return the total in bytes to calculate with for `ordinal`: the smallest one where matching is ambiguous."""
        if self.ambiguous:
            return self.smallest_total
        for device in self.found:
            if device.ordinal == ordinal:
                return device.total
        return None
