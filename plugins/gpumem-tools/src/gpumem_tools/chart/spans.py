"""Who holds which part of a device, as one bar after the other on the scale of the device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """One holder.

    Attributes:
        label: who.
        start: bytes that those before it hold.
        used: bytes that it was asked for.
        idle: bytes that it holds beyond that.
        number: which colour it has.
        note: what is to be said of it.
        alarming: whether that is bad news.
    """

    label: str
    start: int
    used: int
    idle: int
    number: int
    note: str = ""
    alarming: bool = False


def cells(amount: float, total: int, width: int) -> int:
    """Return where a number of bytes lies on a scale of `width` cells."""
    return min(width, max(0, round(amount / total * width)))


def scale(total: int) -> Iterable[int]:
    """Return the round amounts at which a scale is marked: 0, the total, and what lies between in even steps."""
    for parts in (4, 5, 3, 2):
        step = total // parts
        if step * parts == total and step % (1 << 20) == 0 and _is_round(step):
            return tuple(step * number for number in range(parts + 1))
    return (0, total)


def _is_round(amount: int) -> bool:
    """Return whether an amount is written with at most one decimal."""
    unit = 1 << 30 if amount >= 1 << 30 else 1 << 20
    return amount * 2 % unit == 0
