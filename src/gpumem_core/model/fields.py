"""The fields of a policy: where each may stand, and the one way its value is read whatever the source."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Final, Literal, SupportsIndex

from gpumem_core.model.declaration import UNLIMITED, Unlimited, Value
from gpumem_core.sizes import ACCEPTED, SizeError, parse_size

Level = Literal["policy", "device", "framework", "framework_device"]
"""Where a field may stand: at the top, under devices.D, frameworks.F, or frameworks.F.devices.D."""

ALLOCATORS: Final = ("default", "pool", "async", "direct", "vmm", "managed")
REACTIONS: Final = ("error", "warn", "ignore")
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})
_CODE: Final = re.compile(r"GM[0-9]{3}")


class FieldError(ValueError):
    """A value does not fit its field."""

    def __init__(self, problem: str, suggestion: str = "") -> None:
        """Keep what is wrong and what was probably meant."""
        self.problem = problem
        self.suggestion = suggestion
        super().__init__(problem)


def _size(value: object) -> Value:
    try:
        return parse_size(value)
    except SizeError as error:
        raise FieldError(str(error)) from None


def _limit(value: object) -> Value:
    if _is_none_word(value):
        return UNLIMITED
    return _size(value)


def _is_none_word(value: object) -> bool:
    return isinstance(value, Unlimited) or (isinstance(value, str) and value.strip().lower() == "none")


def _fraction(value: object) -> Value:
    if _is_none_word(value):
        return UNLIMITED
    number = _number(value)
    if not math.isfinite(number):
        message = f"{value!r} is not a finite number"
        raise FieldError(message)
    if number <= 0:
        hint = ' (write "none" for no limit)' if number == 0 else ""
        message = f"{value!r} is not above 0{hint}"
        raise FieldError(message)
    return number


def _number(value: object) -> float:
    if isinstance(value, bool):
        message = f"{value} is no number"
        raise FieldError(message)
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        text = value.strip()
        if not text.isascii() or "_" in text:
            message = f"{value!r} is not a number"
            raise FieldError(message)
        percent = text.endswith("%")
        try:
            number = float(text.removesuffix("%").strip())
        except ValueError:
            hint = f'cap = "{text}"' if _reads_as_size(text) else ""
            message = f"{value!r} is not a number"
            raise FieldError(message, hint) from None
        return number / 100 if percent else number
    message = f"{value!r} is not a number"
    raise FieldError(message)


def _reads_as_size(text: str) -> bool:
    try:
        parse_size(text)
    except SizeError:
        return False
    return True


def read_bool(value: object) -> bool | None:
    """Return the truth value that `value` spells, None if it spells none."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
    return None


def _bool(value: object) -> Value:
    truth = read_bool(value)
    if truth is None:
        message = f"{value!r} is neither true nor false"
        raise FieldError(message)
    return truth


def _preallocate(value: object) -> Value:
    truth = read_bool(value)
    return _size(value) if truth is None else truth


def _word(words: tuple[str, ...]) -> Callable[[object], Value]:
    def read(value: object) -> Value:
        if isinstance(value, str):
            word = value.strip().lower()
            if word in words:
                return word
            near = nearest(word, words)
            message = f"{value!r} is not one of {', '.join(words)}"
            raise FieldError(message, f'"{near}"' if near else "")
        message = f"{value!r} is not one of the words {', '.join(words)}"
        raise FieldError(message)

    return read


def _visible(value: object) -> Value:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("all", "none"):
            return word
        bracketed = word.startswith("[") and word.endswith("]")
        inside = word[1:-1] if bracketed else word
        parts = [part.strip() for part in inside.split(",")]
        if inside.strip() and all(part.isascii() and part.isdigit() for part in parts):
            if len(parts) == 1 and not bracketed:
                message = f"{value!r} may mean the device {parts[0]} or a number of devices"
                raise FieldError(message, f'"[{parts[0]}]"')
            return _distinct([int(part) for part in parts])
        message = f'{value!r} is neither "all", "none" nor a list of ordinals'
        raise FieldError(message)
    if isinstance(value, bool | int | float):
        message = f"a bare {value!r} may mean a device, a number of devices or yes and no"
        suggestion = f"[{value}]" if isinstance(value, int) and not isinstance(value, bool) else '"all" or "none"'
        raise FieldError(message, suggestion)
    if isinstance(value, Sequence):
        ordinals: list[int] = []
        for item in value:
            if isinstance(item, bool) or not isinstance(item, SupportsIndex) or index(item) < 0:
                message = f"{item!r} is not an ordinal"
                raise FieldError(message)
            ordinals.append(index(item))
        if not ordinals:
            raise FieldError("the list is empty", '"none"')
        return _distinct(ordinals)
    message = f'{value!r} is neither "all", "none" nor a list of ordinals'
    raise FieldError(message)


def _distinct(ordinals: list[int]) -> tuple[int, ...]:
    if len(set(ordinals)) != len(ordinals):
        message = f"{ordinals} names a device twice"
        raise FieldError(message)
    return tuple(ordinals)


def _processes(value: object) -> Value:
    if isinstance(value, str):
        text = value.strip().lower()
        if text == "auto":
            return "auto"
        value = int(text) if text.isascii() and text.isdigit() else value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        message = f'{value!r} is neither a whole number from 1 on nor "auto"'
        raise FieldError(message)
    return value


def _codes(value: object) -> Value:
    items: Sequence[object]
    items = [part.strip() for part in value.strip("[] ").split(",") if part.strip()] if isinstance(value, str) else []
    if not isinstance(value, str):
        if not isinstance(value, Sequence):
            message = f"{value!r} is not a list of warning codes"
            raise FieldError(message)
        items = value
    codes: list[str] = []
    for item in items:
        code = item.strip("'\" ").upper() if isinstance(item, str) else ""
        if not _CODE.fullmatch(code):
            message = f"{item!r} is not a warning code"
            raise FieldError(message)
        codes.append(code)
    return tuple(codes)


def _options(value: object) -> Value:
    if not isinstance(value, Mapping):
        message = f"{value!r} is not a table of the framework's own options"
        raise FieldError(message)
    for name, option in value.items():
        if not isinstance(name, str) or not name:
            message = f"{name!r} is not the name of an option"
            raise FieldError(message)
        if not isinstance(option, str | int | float | bool):
            message = f"the option {name!r} is {option!r}, neither text, a number nor true or false"
            raise FieldError(message)
    return dict(value)


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field.

    Attributes:
        name: the name in Python and, with a hyphen for each underscore, in TOML.
        read: returns the normalised value or raises `FieldError`.
        levels: where it may stand.
        accepted: the accepted forms, for messages and the documentation.
        meaning: one sentence for the documentation.
        later: not empty for a field whose machinery does not exist yet: why it is refused.
    """

    name: str
    read: Callable[[object], Value]
    levels: frozenset[Level]
    accepted: str
    meaning: str
    later: str = ""


def _levels(*levels: Level) -> frozenset[Level]:
    return frozenset(levels)


_EVERYWHERE: Final = _levels("policy", "device", "framework", "framework_device")
_LATER = "this version of gpumem reads the field but cannot act on it yet, and does not ignore it"

FIELD_SPECS: Final[Mapping[str, FieldSpec]] = {
    spec.name: spec
    for spec in (
        FieldSpec(
            "cap",
            _limit,
            _EVERYWHERE,
            f'{ACCEPTED}, or "none" for no limit',
            "The most device memory each framework's allocator may hold, per process and device.",
        ),
        FieldSpec(
            "fraction",
            _fraction,
            _EVERYWHERE,
            'a number above 0 and at most 1 (above 1 only with the allocator "managed"), "50%", or "none" for no limit',
            "This program's share of each device's total, all its processes together. With a cap, the smaller wins.",
        ),
        FieldSpec(
            "preallocate",
            _preallocate,
            _EVERYWHERE,
            f"false, true, or a size ({ACCEPTED})",
            "What is taken at first touch: nothing ahead, the whole limit, or this much and then growth to the limit.",
        ),
        FieldSpec(
            "growth",
            _bool,
            _EVERYWHERE,
            "true or false",
            "The other way to say preallocate: true is preallocate = false, false is preallocate = true.",
        ),
        FieldSpec(
            "allocator",
            _word(ALLOCATORS),
            _levels("policy", "framework"),
            ", ".join(f'"{word}"' for word in ALLOCATORS),
            "Which kind of allocator the framework uses.",
        ),
        FieldSpec(
            "visible",
            _visible,
            _levels("policy", "framework"),
            '"all", "none", or a list of ordinals such as [0, 1]',
            "Which GPUs the framework sees.",
        ),
        FieldSpec(
            "headroom",
            _size,
            _levels("policy", "device"),
            ACCEPTED,
            "Left free per process for the CUDA context, library handles and NCCL.",
        ),
        FieldSpec(
            "processes_per_device",
            _processes,
            _levels("policy"),
            'a whole number from 1 on, or "auto"',
            "How many of this program's processes share a device.",
        ),
        FieldSpec(
            "process_cap",
            _size,
            _levels("policy"),
            ACCEPTED,
            "What one process may hold in all, divided among its frameworks by their shares.",
            later=_LATER,
        ),
        FieldSpec(
            "share",
            _fraction,
            _levels("framework"),
            "a number above 0 and at most 1",
            "This framework's part of the process cap.",
            later=_LATER,
        ),
        FieldSpec(
            "options",
            _options,
            _levels("framework"),
            "a table of the framework's own option names and values",
            "Options passed through to the framework as they are, checked by its plugin.",
        ),
        FieldSpec(
            "on_late",
            _word(REACTIONS),
            _levels("policy", "framework"),
            ", ".join(f'"{word}"' for word in REACTIONS),
            "What happens with a setting that comes too late.",
        ),
        FieldSpec(
            "on_unsupported",
            _word(REACTIONS),
            _levels("policy", "framework"),
            ", ".join(f'"{word}"' for word in REACTIONS),
            "What happens with a field that a framework cannot express; by default an error for limits and hiding, "
            "a warning for the rest.",
        ),
        FieldSpec(
            "ignore",
            _codes,
            _levels("policy"),
            'a list of warning codes such as ["GM204"]',
            "Warnings that are not given.",
        ),
    )
}

TABLES: Final[Mapping[str, frozenset[Level]]] = {
    "devices": _levels("policy", "framework"),
    "frameworks": _levels("policy"),
}
"""The two fields that are tables of further fields, and where each may stand."""


def nearest(word: str, words: Sequence[str]) -> str:
    """Return the word that was probably meant, empty if none is near."""
    from difflib import get_close_matches

    matches = get_close_matches(word, words, n=1, cutoff=0.6)
    return matches[0] if matches else ""


def names_at(level: Level) -> tuple[str, ...]:
    """Return the names of the fields and tables that may stand at `level`."""
    fields = [name for name, spec in FIELD_SPECS.items() if level in spec.levels]
    return (*fields, *(name for name, levels in TABLES.items() if level in levels))
