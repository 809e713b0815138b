"""Bytes to the fraction that JAX takes, never above the limit.

JAX gives the fraction to XLA as a 32-bit float, and XLA's limit is ``int(total * fraction)`` in 64-bit arithmetic
(xla/pjrt/gpu/gpu_helpers.cc, CreateBFCAllocator), rounded up to the allocation granularity of the driver, which is
2 MiB (seen with jaxlib 0.12.0.1: a fraction of 0.1 of 16 GiB gives 1640 MiB; 0.4.35 does not round).
"""

from __future__ import annotations

import struct
from typing import Final

GRANULARITY: Final = 2 << 20
"""The unit in which the driver hands out memory, in bytes."""
DEFAULT_FRACTION: Final = 0.75
"""What JAX takes without any setting (jax pull request 16724, since jaxlib 0.4.14)."""


def as_float32(value: float) -> float:
    """Return the nearest 32-bit float."""
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded


def _neighbour(value: float, step: int) -> float:
    """Return the next 32-bit float above (1) or below (-1) a positive one."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    neighbour: float = struct.unpack("<f", struct.pack("<I", bits + step))[0]
    return neighbour


def floored(limit: int) -> int:
    """Return a limit in bytes, rounded down to whole units of the driver."""
    return max(limit, 0) // GRANULARITY * GRANULARITY


def largest_fraction(limit: int, total: int) -> float:
    """Return the largest 32-bit float with which JAX stays within `limit` bytes on a device of `total` bytes.

    Returns:
        the fraction; above 1 where the limit is above the total; 0 where not even one unit fits.

    Example:
        >>> largest_fraction(4 << 30, 16 << 30)
        0.25
        >>> int((16 << 30) * largest_fraction(1234567891, 16 << 30)) <= 1234567891
        True
    """
    whole = floored(limit)
    if whole == 0 or total <= 0:
        return 0.0
    fraction = as_float32(whole / total)
    while int(total * fraction) > whole:
        fraction = _neighbour(fraction, -1)
    while int(total * _neighbour(fraction, 1)) <= whole:
        fraction = _neighbour(fraction, 1)
    return fraction


def in_force(total: int, fraction: float) -> int:
    """Return the limit in bytes that JAX makes of a fraction, as its newest version rounds it."""
    return -(-int(total * as_float32(fraction)) // GRANULARITY) * GRANULARITY


def as_text(fraction: float) -> str:
    """Return the shortest decimal that JAX reads as the same 32-bit float as `fraction`.

    JAX reads the text as a Python float and hands it on as a 32-bit one.

    Example:
        >>> as_text(largest_fraction(4 << 30, 24 << 30))
        '0.16666666'
    """
    target = as_float32(fraction)
    for digits in range(1, 10):
        text = f"{target:.{digits}g}"
        if as_float32(float(text)) == target:
            return text
    return repr(target)
