"""Pure arithmetic on the memory limits of TensorFlow's logical devices. They are in MB of 2**20 bytes.

TensorFlow multiplies the integer part of a limit by 2**20 (gpu_device.cc, seen on 2.18.0 and 2.21.0), and
validates nothing: 0 makes a device on which every operation fails, a negative number means no limit at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MB: Final = 1 << 20

Bounds = Sequence[tuple[float, int]]
"""Pairs of a share of the device's total and an amount in bytes; the limit is the smallest of their sums."""


def limit_in_bytes(bounds: Bounds, total: int | None) -> int | None:
    """Return the limit in bytes, None where a bound needs the total and it is unknown."""
    if total is None and any(share for share, _ in bounds):
        return None
    return min(int(share * (total or 0)) + amount if share else amount for share, amount in bounds)


def megabytes(limit: int) -> int:
    """Return the limit in whole MB, rounded down."""
    return limit // MB


def sum_in_bytes(limits: Sequence[float]) -> int | None:
    """Return what logical devices with these limits in MB may hold together, None where one has no limit."""
    if any(limit < 1 for limit in limits):
        return None
    return sum(int(limit) * MB for limit in limits)


def fit(limits: Sequence[float], cap: int) -> tuple[int, ...] | None:
    """Return limits in MB in the proportions of `limits` whose sum is at most `cap` bytes.

    The number of logical devices stays: a program that splits a GPU in two addresses both. None where a part
    would be less than 1 MB.

    Example:
        >>> fit([8192, 4096], 3 * 2**30)
        (2048, 1024)
    """
    whole = megabytes(cap)
    positive = [limit if limit >= 1 else 0 for limit in limits]
    total = sum(positive)
    if total == 0 or not all(positive):  # no proportions to keep: equal parts
        positive, total = [1.0] * len(limits), len(limits)
    parts = tuple(int(whole * limit / total) for limit in positive)
    if any(part < 1 for part in parts):
        return None
    return parts
