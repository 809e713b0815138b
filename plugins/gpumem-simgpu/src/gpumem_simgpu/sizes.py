"""Amounts of memory as people write them: "16GiB", "512 MiB", "8GB", a whole number of bytes."""

from __future__ import annotations

import re
from decimal import Decimal

from gpumem_simgpu.errors import SimulationError

MIB = 1 << 20
GIB = 1 << 30
# Doubles count exactly up to here; no card comes near it.
_LARGEST = 1 << 53
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_AMOUNT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)(b?)", re.IGNORECASE)


def parse_size(value: str | int, where: str, *, smallest: int = MIB, zero: bool = False) -> int:
    """Return the bytes that a text or a number says.

    Args:
        value: "16GiB" and "16Gi" are multiples of 2**30, "16GB" and "16G" of 10**9; a bare number is bytes.
        where: what the value belongs to, for the message: ``devices``.
        smallest: less than this many bytes is refused, since it is nearly always a forgotten unit.
        zero: 0 is a size here ("nothing").

    Raises:
        SimulationError: the value is no size, or too small or too large for one.

    """
    text = str(value).strip()
    match = _AMOUNT.fullmatch(text) if not isinstance(value, bool) else None
    if match is None or (match[3] and not match[2]):
        message = f'{where}: "{text}" is not a size; write a number with a unit, such as "16GiB" or "512MiB"'
        raise SimulationError(message)
    number = Decimal(match[1]) * (1024 if match[3] else 1000) ** _POWERS[match[2].lower()]
    if number != int(number) and not match[2]:
        message = f'{where}: "{text}" is not a whole number of bytes; write a unit, such as "{text}GiB"'
        raise SimulationError(message)
    size = int(number)
    if zero and size == 0:
        return 0
    if size > _LARGEST:
        message = f'{where}: "{text}" is more than any device has; the most is {size_text(_LARGEST)}'
        raise SimulationError(message)
    if size < smallest:
        raise SimulationError(_too_small(text, size, where, smallest, bare=not (match[2] or match[4])))
    return size


def _too_small(text: str, size: int, where: str, smallest: int, *, bare: bool) -> str:
    if bare and size:
        unit = "GiB" if size <= 256 and "context" not in where else "MiB"
        return f'{where}: "{text}" is a number of bytes, since it has no unit; did you mean "{text}{unit}"?'
    return f'{where}: "{text}" is {size} bytes; the smallest size is {size_text(smallest)}'


def size_text(size: int) -> str:
    """Return the shortest text of exactly this size: "16GiB", "15360MiB", "42298834944"."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size and size % 1024**power == 0:
            return f"{size // 1024**power}{unit}"
    return str(size)


def human_size(size: int) -> str:
    """Return a size for people, in GiB or MiB with at most two decimals: "79.15 GiB"."""
    amount, unit = (size / GIB, "GiB") if size >= GIB else (size / MIB, "MiB")
    return f"{amount:.2f}".rstrip("0").rstrip(".") + f" {unit}"
