"""Devices that are declared rather than asked for: ``GPUMEM_ASSUME_DEVICES`` (login nodes, tests)."""

from __future__ import annotations

import re
from typing import Final

from gpumem_core.model.device import Device, Devices
from gpumem_core.sizes import SizeError, parse_size

VARIABLE: Final = "GPUMEM_ASSUME_DEVICES"
_ITEM: Final = re.compile(r"(?:(?P<count>[1-9][0-9]{0,2})\s*x\s*)?(?P<size>.+)", re.IGNORECASE)


class AssumedDevicesError(ValueError):
    """The text declares no devices; the message says why."""


def parse_assumed(text: str) -> Devices:
    """Return the devices that `text` declares.

    Args:
        text: sizes separated by commas, each with an optional count, or ``none``.

    Raises:
        AssumedDevicesError: when a part is no size.

    Example:
        >>> [device.total for device in parse_assumed("2x16GiB,8GiB").found]
        [17179869184, 17179869184, 8589934592]
    """
    if text.strip().lower() == "none":
        return Devices(complete=True, source="assumed", driver=False, why=f"{VARIABLE} says that there are none")
    found: list[Device] = []
    for part in text.split(","):
        match = _ITEM.fullmatch(part.strip())
        if not match:
            message = f"{part!r} declares no device; write for example 2x16GiB"
            raise AssumedDevicesError(message)
        try:
            size = parse_size(match["size"])
        except SizeError as error:
            message = f"{part.strip()!r} declares no device: {error}"
            raise AssumedDevicesError(message) from None
        if size.bytes is None:
            message = f"{part.strip()!r} declares no device: a total cannot be a percentage"
            raise AssumedDevicesError(message)
        for _ in range(int(match["count"] or 1)):
            found.append(Device(len(found), name="assumed", total=size.bytes, free=size.bytes))
    return Devices(tuple(found), complete=True, source="assumed", driver=True)
