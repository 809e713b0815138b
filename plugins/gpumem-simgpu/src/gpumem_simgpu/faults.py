"""Faults that a simulated machine shows on demand.

Requests for device memory are counted in each process, from 1, on the device that a fault names or on every
device.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.sizes import parse_size, size_text
from gpumem_simgpu.suggestion import did_you_mean

# The texts that the device reads, each with an example.
EXAMPLES = {
    "alloc": '"alloc=3" (the 3rd request is refused), "alloc=3+" (all from it on), "alloc=3@1" (on device 1)',
    "lost": '"lost=5" (the device is lost at the 5th request) or "lost=5@1"',
    "init": '"init=999" (cuInit answers 999)',
    "other": '"other=4GiB:3" (before the 3rd request another process takes 4 GiB) or "other=4GiB:3@1"',
    "slow": '"slow=50" (calls that allocate, free or start something take 50 ms longer)',
}
_LAST_CODE = 9999
_LONGEST = 60_000


@dataclass(frozen=True)
class RefuseRequest:
    """The ``number``-th request is refused as out of memory; with ``onwards`` all later ones too."""

    number: int
    device: int | None = None
    onwards: bool = False

    def __post_init__(self) -> None:
        """Refuse what no device could do."""
        _require_count("alloc", "number", self.number)
        _require_device("alloc", self.device)

    def __str__(self) -> str:
        """Return what SIMGPU_FAULTS holds."""
        return f"alloc={self.number}{'+' if self.onwards else ''}{_at(self.device)}"


@dataclass(frozen=True)
class LoseDevice:
    """At the ``at``-th request the device is lost: that call and all later ones that touch it fail."""

    at: int
    device: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no device could do."""
        _require_count("lost", "at", self.at)
        _require_device("lost", self.device)

    def __str__(self) -> str:
        """Return what SIMGPU_FAULTS holds."""
        return f"lost={self.at}{_at(self.device)}"


@dataclass(frozen=True)
class FailInit:
    """``cuInit`` answers ``code``, a CUresult: 999 unknown, 100 no device, 802 system not ready, 803 mismatch."""

    code: int

    def __post_init__(self) -> None:
        """Refuse success and what is no code."""
        if not _whole(self.code) or not 1 <= self.code <= _LAST_CODE:
            message = (
                f'fault init: the code {self.code!r} is not a CUresult of an error; write "init=999" or FailInit(999)'
            )
            raise SimulationError(message)

    def __str__(self) -> str:
        """Return what SIMGPU_FAULTS holds."""
        return f"init={self.code}"


@dataclass(frozen=True)
class OtherProcess:
    """Just before the ``before``-th request another process takes ``size``, or what is free if that is less."""

    size: str | int
    before: int
    device: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no size or no count."""
        parse_size(self.size, "fault other")
        _require_count("other", "before", self.before)
        _require_device("other", self.device)

    def __str__(self) -> str:
        """Return what SIMGPU_FAULTS holds."""
        return f"other={size_text(parse_size(self.size, 'fault other'))}:{self.before}{_at(self.device)}"


@dataclass(frozen=True)
class SlowDriver:
    """Each call that initialises, makes a context, allocates or frees takes ``milliseconds`` longer."""

    milliseconds: int

    def __post_init__(self) -> None:
        """Refuse what is no time."""
        if not _whole(self.milliseconds) or not 1 <= self.milliseconds <= _LONGEST:
            message = (
                f"fault slow: {self.milliseconds!r} is not a time of 1 to {_LONGEST} milliseconds; "
                'write "slow=50" or SlowDriver(50)'
            )
            raise SimulationError(message)

    def __str__(self) -> str:
        """Return what SIMGPU_FAULTS holds."""
        return f"slow={self.milliseconds}"


Fault = RefuseRequest | LoseDevice | FailInit | OtherProcess | SlowDriver


def parse_fault(text: str) -> Fault:
    """Return the fault that a text describes.

    Raises:
        SimulationError: it describes none; the message shows how each kind is written.

    Example:
        >>> parse_fault("alloc=3@1")
        RefuseRequest(number=3, device=1, onwards=False)

    """
    kind, equals, rest = text.strip().partition("=")
    if kind not in EXAMPLES or not equals:
        hint = did_you_mean(kind, EXAMPLES) or f"; the kinds are {', '.join(EXAMPLES)}"
        message = f'fault "{text}": a fault is written kind=value{hint}'
        raise SimulationError(message)
    value, at, place = rest.partition("@")
    if at and (not place.isdecimal() or kind in ("init", "slow")):
        raise SimulationError(_unreadable(text, kind))
    device = int(place) if at else None
    if kind == "alloc" and (match := re.fullmatch(r"(\d+)(\+?)", value)):
        return RefuseRequest(int(match[1]), device, onwards=bool(match[2]))
    if kind == "other" and (match := re.fullmatch(r"([^:]+):(\d+)", value)):
        return OtherProcess(size_text(parse_size(match[1], f'fault "{text}"')), int(match[2]), device)
    if value.isdecimal() and kind == "lost":
        return LoseDevice(int(value), device)
    if value.isdecimal() and kind == "init":
        return FailInit(int(value))
    if value.isdecimal() and kind == "slow":
        return SlowDriver(int(value))
    raise SimulationError(_unreadable(text, kind))


def _unreadable(text: str, kind: str) -> str:
    return f'fault "{text}": write {EXAMPLES[kind]}'


def _at(device: int | None) -> str:
    return "" if device is None else f"@{device}"


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _require_count(kind: str, field: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        message = f"fault {kind}: {field} = {value!r}, but requests are counted from 1; write {EXAMPLES[kind]}"
        raise SimulationError(message)


def _require_device(kind: str, value: object) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        message = f"fault {kind}: device = {value!r} is no bus number; write {EXAMPLES[kind]}"
        raise SimulationError(message)
