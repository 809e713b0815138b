"""How the value of a policy field is read, the same way whatever the source it comes from."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Final, SupportsIndex

from gpumem_core.model.declaration import UNLIMITED, Unlimited, Value
from gpumem_core.sizes import SizeError, parse_size

ALLOCATORS: Final = ("default", "pool", "async", "direct", "vmm", "managed")
REACTIONS: Final = ("error", "warn", "ignore")
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})
_CODE: Final = re.compile(r"GM[0-9]{3}")
_ORDINAL: Final = re.compile(r"[0-9]{1,4}")


class FieldError(ValueError):
    """A value does not fit its field."""

    def __init__(self, problem: str, suggestion: str = "") -> None:
        """Keep what is wrong and what was probably meant."""
        self.problem = problem
        self.suggestion = suggestion
        super().__init__(problem)


def read_size(value: object) -> Value:
    """Read a size; see `gpumem_core.sizes`."""
    try:
        return parse_size(value)
    except SizeError as error:
        raise FieldError(str(error)) from None


def read_limit(value: object) -> Value:
    """Read a size, or the word "none" for no limit."""
    if _is_none_word(value):
        return UNLIMITED
    return read_size(value)


def _is_none_word(value: object) -> bool:
    return isinstance(value, Unlimited) or (isinstance(value, str) and value.strip().lower() == "none")


def read_fraction(value: object) -> Value:
    """Read a share above 0, or the word "none" for no limit."""
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
        try:
            return float(value)
        except OverflowError:
            message = "the number is too large"
            raise FieldError(message) from None
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
    if isinstance(value, int) and value in (0, 1):
        # A file or a program may write 1 where a variable can only hold "1".
        return bool(value)
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
    return None


def read_truth(value: object) -> Value:
    """Read true or false."""
    truth = read_bool(value)
    if truth is None:
        message = f"{value!r} is neither true nor false"
        raise FieldError(message)
    return truth


def read_preallocate(value: object) -> Value:
    """Read true, false or a size."""
    truth = read_bool(value)
    return read_size(value) if truth is None else truth


def word_reader(words: tuple[str, ...]) -> Callable[[object], Value]:
    """Return a reader of one of `words`, in any case."""

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


def read_visible(value: object) -> Value:
    """Read "all", "none" or a list of ordinals."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("all", "none"):
            return word
        bracketed = word.startswith("[") and word.endswith("]")
        inside = word[1:-1] if bracketed else word
        parts = [part.strip() for part in inside.split(",")]
        if inside.strip() and all(_ORDINAL.fullmatch(part) for part in parts):
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
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
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


def read_processes(value: object) -> Value:
    """Read a number of processes, or "auto"."""
    if isinstance(value, str):
        text = value.strip().lower()
        if text == "auto":
            return "auto"
        value = int(text) if _ORDINAL.fullmatch(text) else value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        message = f'{value!r} is neither a whole number from 1 on nor "auto"'
        raise FieldError(message)
    return value


def read_codes(value: object) -> Value:
    """Read a list of warning codes."""
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


def read_options(value: object) -> Value:
    """Read a table of a framework's own options."""
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


def nearest(word: str, words: Sequence[str], cutoff: float = 0.6) -> str:
    """Return the word that was probably meant, empty if none is near; `cutoff` is 1 for equal words only."""
    from difflib import get_close_matches

    matches = get_close_matches(word, words, n=1, cutoff=cutoff)
    return matches[0] if matches else ""
