"""CUDA_VISIBLE_DEVICES, read as the driver reads it.

Rules: CUDA C++ Programming Guide, "CUDA Environment Variables": the first invalid entry ends the list. That
duplicates leave no device, and that text behind digits is ignored, was compared with a framework's own parser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_LEADING_DIGITS = re.compile(r"\s*(-?[0-9]+)")


@dataclass(frozen=True, slots=True)
class VisibleDevices:
    """The entries of the variable up to the first invalid one.

    Attributes:
        ordinals: the listed numbers, in the driver's own order of devices; None where UUIDs are listed.
        uuids: the listed UUIDs or beginnings of UUIDs; None where numbers are listed.
        everything: True where the variable is not set.
    """

    ordinals: tuple[int, ...] | None = None
    uuids: tuple[str, ...] | None = None
    everything: bool = False


def parse_visible_devices(text: str | None) -> VisibleDevices:
    """Return what the variable lists.

    Example:
        >>> parse_visible_devices("2,0").ordinals, parse_visible_devices("0,-1,1").ordinals
        ((2, 0), (0,))
        >>> parse_visible_devices("0,0").ordinals, parse_visible_devices("").ordinals
        ((), ())
    """
    if text is None:
        return VisibleDevices(everything=True)
    parts = text.split(",")
    if parts[0].strip().startswith(("GPU-", "MIG-")):
        return VisibleDevices(uuids=_uuids(parts))
    ordinals: list[int] = []
    for part in parts:
        match = _LEADING_DIGITS.match(part)  # "1gpu" counts as 1; "0-2" is no range but 0
        if not match or int(match[1]) < 0:
            break
        ordinal = int(match[1])
        if ordinal in ordinals:
            return VisibleDevices(ordinals=())
        ordinals.append(ordinal)
    return VisibleDevices(ordinals=tuple(ordinals))


def _uuids(parts: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    for part in parts:
        uuid = part.strip()
        if not uuid.startswith(("GPU-", "MIG-")):
            break
        if uuid in found:
            return ()
        found.append(uuid)
    return tuple(found)


def match_uuid(prefix: str, uuids: Sequence[str]) -> tuple[str, ...]:
    """Return the UUIDs that begin with `prefix`, in any case."""
    return tuple(uuid for uuid in uuids if uuid.lower().startswith(prefix.lower()))
