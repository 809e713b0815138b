"""From a limit in bytes to the fraction that PyTorch takes, never above."""

from __future__ import annotations

import math
from collections.abc import Sequence


def fraction_for(limit: int, total: int) -> float:
    """Return the largest fraction with which PyTorch allows at most `limit` of `total` bytes, below 1.

    PyTorch allows ``fraction * total`` bytes, cut off up to 2.9 and rounded to the nearest whole number in 2.14 (seen:
    0.7 of 16 GiB was 12025908428 and 12025908429 bytes). So the product itself must not be above the limit. The
    fraction 1 would remove the limit from 2.10 on; what is at least the whole device becomes the largest one below.

    Example:
        >>> fraction_for(4 << 30, 16 << 30), fraction_for(32 << 30, 16 << 30) < 1
        (0.25, True)
    """
    below_one = math.nextafter(1.0, 0.0)
    if limit >= total:
        return below_one
    fraction = limit / total
    while fraction * total > limit:
        fraction = math.nextafter(fraction, 0.0)
    while (larger := math.nextafter(fraction, 1.0)) * total <= limit:
        fraction = larger
    return min(fraction, below_one)


def limit_in_bytes(bounds: Sequence[Sequence[float]], total: int) -> int:
    """Return the smallest of the bounds ``(share, bytes)`` on a device with `total` bytes, rounded down."""
    return min(int(share * total) + int(amount) for share, amount in bounds)


def chosen_fraction(bounds: Sequence[Sequence[float]], total: int, margin: int) -> float:
    """Return the fraction to set.

    Args:
        bounds: pairs of a share of the total and bytes; the smallest counts.
        total: the device's memory in bytes, as PyTorch sees it.
        margin: bytes to stay below the limit.
    """
    shares = [share for share, amount in bounds if not amount]
    if len(shares) == len(bounds):
        share = min(shares)
        if share >= 1:
            return 1.0  # the whole device: PyTorch takes that for no limit, which is the same
        if not margin and round(share * total) <= share * total:
            return share
    # At least one byte stays allowed: the fraction 0 and "no limit" must never be confused.
    return fraction_for(max(limit_in_bytes(bounds, total) - margin, 1), total)
