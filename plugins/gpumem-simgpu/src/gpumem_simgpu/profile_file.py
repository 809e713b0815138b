"""A profile's file: TOML with the keys below and no others."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.profile import Profile
from gpumem_simgpu.sizes import parse_size
from gpumem_simgpu.suggestion import did_you_mean

MOST_MULTIPROCESSORS = 1024
_CAPABILITY = re.compile(r"\d{1,2}\.\d")
_SLICE = re.compile(r"[1-7]g\.\d{1,3}gb(\+me)?")


class _File:
    """The text of one file, and errors that name its line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8")
            self.values: Mapping[str, object] = tomllib.loads(self.text)
        except (OSError, UnicodeDecodeError) as error:
            message = f"{path}: the profile cannot be read: {getattr(error, 'strerror', None) or error}"
            raise SimulationError(message) from None
        except tomllib.TOMLDecodeError as error:
            message = f"{path}: this is not TOML: {error}"
            raise SimulationError(message) from None

    def place(self, key: str) -> str:
        """Return "FILE:LINE: KEY"; the line is left out where the key is not written plainly."""
        line = re.search(rf"^[ \t]*(?:\[\s*)?[\"']?{re.escape(key)}[\"']?\s*(?:=|\.|\])", self.text, re.MULTILINE)
        number = f":{self.text.count(chr(10), 0, line.start()) + 1}" if line else ""
        return f"{self.path}{number}: {key}"

    def fail(self, key: str, problem: str) -> NoReturn:
        """Raise what is wrong with a key."""
        message = f"{self.place(key)}: {problem}"
        raise SimulationError(message)

    def string(self, key: str, default: str | None = None) -> str:
        """Return a text that is not empty and holds no comma, which separates devices in a variable."""
        value = self._value(key, default)
        if not isinstance(value, str):
            self.fail(key, f'{value!r} is not a text; write {key} = "..."')
        return value

    def size(self, key: str, default: int | None = None, *, zero: bool = False) -> int:
        """Return a size in bytes."""
        value = self._value(key, default)
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            self.fail(key, f'{value!r} is not a size; write {key} = "16GiB"')
        return parse_size(value, self.place(key), zero=zero)

    def whole(self, key: str, default: int, most: int) -> int:
        """Return a whole number from 0 to ``most``."""
        value = self._value(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            self.fail(key, f"{value!r} is not a whole number from 0 to {most}")
        return value

    def yes(self, key: str, default: bool) -> bool:
        """Return a yes or no."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            self.fail(key, f"{value!r} is neither true nor false")
        return value

    def _value(self, key: str, default: object) -> object:
        if key not in self.values and default is None:
            message = f"{self.path}: {key} is missing"
            raise SimulationError(message)
        return self.values.get(key, default)


KEYS: Mapping[str, str] = {
    "description": "what the card is, for people",
    "card": "the name that CUDA and NVML report",
    "memory": "bytes that CUDA reports",
    "nvml-memory": "bytes that NVML reports (memory)",
    "context": "what each CUDA context takes (0)",
    "compute-capability": '"8.0" (8.0)',
    "multiprocessors": "how many there are (108)",
    "memory-pools": "stream-ordered memory pools (true)",
    "virtual-memory": "virtual memory management (true)",
    "managed-memory": "concurrent managed memory (true)",
    "integrated": "the memory is the host's (false)",
    "mig-slice": '"1g.5gb" for a slice of a GPU (none)',
    "mig-memory-slices": "how many of the GPU's eight memory slices it takes (1)",
}


def read_profile(path: Path) -> Profile:
    """Return the profile that a file describes.

    Raises:
        SimulationError: the file cannot be read, or says something that no device can be.

    """
    file = _File(path)
    for key in file.values:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or f"; the keys are {', '.join(KEYS)}"
            file.fail(key, f"there is no such key{hint}")
    memory = file.size("memory")
    capability = _matching(file, "compute-capability", "8.0", _CAPABILITY.fullmatch, '"8.0"')
    mig_slice = _matching(file, "mig-slice", "", lambda text: not text or _SLICE.fullmatch(text), '"1g.5gb"')
    memory_slices = file.whole("mig-memory-slices", 1 if mig_slice else 0, most=8)
    if memory_slices and not mig_slice:
        file.fail("mig-memory-slices", 'only a slice has memory slices; add mig-slice, such as "1g.5gb"')
    nvml_memory = file.size("nvml-memory", memory)
    if nvml_memory < memory:
        file.fail("nvml-memory", "NVML reports all memory of the card, so it cannot be less than memory")
    card = _matching(file, "card", None, is_card_name, 'a name without a comma, such as "Tesla T4"')
    return Profile(
        name=path.name.removesuffix(".toml"),
        description=file.string("description", card),
        card=card,
        memory=memory,
        nvml_memory=nvml_memory,
        context=file.size("context", 0, zero=True),
        compute_capability=capability,
        multiprocessors=file.whole("multiprocessors", 108, most=MOST_MULTIPROCESSORS) or 1,
        memory_pools=file.yes("memory-pools", default=True),
        virtual_memory=file.yes("virtual-memory", default=True),
        managed_memory=file.yes("managed-memory", default=True),
        integrated=file.yes("integrated", default=False),
        mig_slice=mig_slice,
        mig_memory_slices=memory_slices,
        file=path,
    )


def is_card_name(text: str) -> bool:
    """Tell whether a variable can hold this name: it separates names by commas, and "2xNAME" is a repetition."""
    return bool(text.strip()) and "," not in text and text.isprintable() and not re.match(r"\d+x", text)


def _matching(file: _File, key: str, default: str | None, fits: Callable[[str], object], example: str) -> str:
    value = file.string(key, default)
    if not fits(value):
        file.fail(key, f'"{value}" does not fit; write {example}')
    return value
