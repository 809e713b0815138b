"""Sizes: amounts of device memory, read from what people write and written back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from operator import index
from typing import Final, Literal, SupportsIndex

MIB: Final = 1 << 20
GIB: Final = 1 << 30
SMALLEST: Final = MIB
LARGEST: Final = (1 << 63) - 1

_DECIMAL: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_AMOUNT = re.compile(
    r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<exponent>[eE][+-]?[0-9]{1,3})?"
    r"[ ]*(?P<unit>[kmgtpKMGTP]?)(?P<binary>[iI]?)(?P<bytes>[bB]?)",
)
_PERCENT = re.compile(
    r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[ ]*%(?:[ ]+(?:of[ ]+)?(?P<of>total|free))?", re.IGNORECASE
)

ACCEPTED: Final = '"8GiB" (2**30), "8GB" (10**9), a whole number of bytes, "50%" of the total, "80% free"'


class SizeError(ValueError):
    """The text or number is no size. The message says why and what to write instead."""


@dataclass(frozen=True, slots=True)
class Size:
    """An amount of device memory.

    Exactly one of `bytes` and `percent` is set.

    Attributes:
        bytes: the amount in bytes, at least 1 MiB.
        percent: a share of a device's memory, above 0 and at most 100.
        of: what the share is taken of, the device's total or what is free when it is resolved.
    """

    bytes: int | None = None
    percent: float | None = None
    of: Literal["total", "free"] = "total"

    def __str__(self) -> str:
        """Return a text that `parse_size` reads back to an equal size."""
        if self.percent is not None:
            # Neither rounded nor with an exponent, which `parse_size` does not read in a percentage.
            percent = f"{Decimal(repr(self.percent)):f}".removesuffix(".0")
            return f"{percent}%" + (" free" if self.of == "free" else "")
        assert self.bytes is not None
        return exact(self.bytes)


def parse_size(value: object) -> Size:
    """Read a size.

    Args:
        value: a `Size`, a whole number of bytes, or text such as ``"8GiB"``, ``"8 GB"``, ``"50%"``,
            ``"80% free"``. Units are bytes whatever their case, never bits; ``G`` and ``GB`` are
            10**9, ``Gi`` and ``GiB`` 2**30.

    Raises:
        SizeError: for everything else, and for zero, less than 1 MiB, more than 2**63 - 1 bytes.

    Example:
        >>> parse_size("8GiB").bytes
        8589934592
        >>> parse_size("1.5 GB").bytes
        1500000000
        >>> str(parse_size("50 %"))
        '50%'
    """
    if isinstance(value, Size):
        return _in_bytes(value.bytes, str(value.bytes)) if value.bytes is not None else _parse_text(str(value))
    if isinstance(value, bool):
        message = f"{value} is neither a size nor a number of bytes"
        raise SizeError(message)
    if isinstance(value, str):
        return _parse_text(value)
    if isinstance(value, float):
        raise SizeError(_float_problem(value))
    if isinstance(value, SupportsIndex):
        amount = index(value)
        # Python refuses to write out integers of thousands of digits.
        return _in_bytes(amount, str(amount) if abs(amount) <= LARGEST else "the number")
    message = f"{value!r} is not a size"
    raise SizeError(message)


def _float_problem(value: float) -> str:
    if 0 < value <= 1:
        return f'{value!r} is no number of bytes; did you mean fraction = {value!r} or "{value * 100:g}%"?'
    if value.is_integer() and value > 1:
        return f"{value!r} is not a whole number of bytes; write {int(value)}, or a unit"
    return f"{value!r} is not a size"


def _parse_text(text: str) -> Size:
    if not text.isascii():
        message = f"{text!r} holds characters outside of ASCII"
        raise SizeError(message)
    stripped = text.strip()
    if not stripped:
        message = "the text is empty"
        raise SizeError(message)
    if match := _PERCENT.fullmatch(stripped):
        percent = float(match["number"])
        if not 0 < percent <= 100:
            message = f"{stripped!r} is not above 0% and at most 100%"
            raise SizeError(message)
        of: Literal["total", "free"] = "free" if (match["of"] or "").lower() == "free" else "total"
        return Size(percent=percent, of=of)
    match = _AMOUNT.fullmatch(stripped)
    if not match or (match["binary"] and not match["unit"]):
        raise SizeError(_text_problem(stripped))
    number = Decimal(match["number"] + (match["exponent"] or ""))
    base = 1024 if match["binary"] else 1000
    unitless = not (match["unit"] or match["bytes"])
    if unitless and 0 < number <= 1:
        message = f'{stripped!r} is no number of bytes; did you mean fraction = {stripped} or "{number * 100:g}%"?'
        raise SizeError(message)
    amount = number * base ** _DECIMAL[match["unit"].lower()]
    if amount > LARGEST:
        message = f"{stripped!r} is more than {LARGEST} bytes"
        raise SizeError(message)
    if unitless and amount and not stripped.isdigit():
        message = f"{stripped!r} is not a whole number of bytes; write {int(amount)}, or a unit"
        raise SizeError(message)
    return _in_bytes(int(amount), stripped)


def _text_problem(text: str) -> str:
    if text.startswith("-"):
        return f"{text!r} is negative"
    if text.lower() in {"nan", "inf", "infinity", "+inf"}:
        return f"{text!r} is not a finite number"
    if re.fullmatch(r"[0-9.]+\s*[kmgtp]?i?bits?", text, re.IGNORECASE):
        return f"{text!r} counts bits; sizes are in bytes"
    if "," in text:
        return f"{text!r} holds a comma; write a point for decimals and nothing between thousands"
    return f"{text!r} is not a size"


def _in_bytes(amount: int, written: str) -> Size:
    if amount < 0:
        message = f"{written} is negative"
        raise SizeError(message)
    if amount == 0:
        message = (
            f'{written} would mean "no limit" to some frameworks and "nothing" to others; write "none" for no limit'
        )
        raise SizeError(message)
    if amount > LARGEST:
        message = f"{written} is more than {LARGEST} bytes"
        raise SizeError(message)
    if amount < SMALLEST:
        hint = f'; a bare number is bytes: did you mean "{written}MiB"?' if written.isdigit() else ""
        message = f"{written} is {amount} bytes, below the smallest size of 1 MiB{hint}"
        raise SizeError(message)
    return Size(bytes=amount)


def exact(amount: int) -> str:
    """Return the shortest text that `parse_size` reads back to exactly `amount` bytes.

    Example:
        >>> exact(8 << 30), exact(1500 * 10**6), exact(123456789)
        ('8GiB', '1500MB', '123456789')
    """
    for base, suffix in ((1024, "iB"), (1000, "B")):
        for power, letter in ((5, "P"), (4, "T"), (3, "G"), (2, "M")):
            if amount and amount % base**power == 0:
                return f"{amount // base**power}{letter}{suffix}"
    return str(amount)


def human(amount: int) -> str:
    """Return `amount` bytes for people: two decimals at the most, binary units, never rounded to another GiB.

    Example:
        >>> human(8 << 30), human(1638 << 20), human(4294967295)
        ('8 GiB', '1.6 GiB', '4 GiB less 1 byte')
    """
    for size, unit in ((GIB, "GiB"), (MIB, "MiB"), (1024, "KiB")):
        if amount >= size:
            number = f"{amount / size:.2f}".rstrip("0").rstrip(".")
            missing = round(float(number) * size) - amount
            if missing >= 1024 and float(number).is_integer():
                number = f"{float(number) - 0.01:.2f}"
            if 0 < missing < 1024 and float(number).is_integer():
                return f"{number} {unit} less {missing} byte{'s' if missing > 1 else ''}"
            return f"{number} {unit}"
        if size == GIB and 0 < GIB - amount < 1024:
            return f"1 GiB less {GIB - amount} byte{'s' if GIB - amount > 1 else ''}"
    return f"{amount} bytes"
