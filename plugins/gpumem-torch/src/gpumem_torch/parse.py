"""Reading PYTORCH_ALLOC_CONF as PyTorch reads it, without ever raising.

The grammar is ``key:value,key:value``; a value may be a list in brackets. Releases before 2.10 check each separator
and leave out spaces only (`lexArgs` and `consumeToken`, ``c10/cuda/CUDAAllocatorConfig.cpp``); later ones leave out all
white space, look at positions only, and take any token for a separator (`ConfigTokenizer`,
``c10/core/AllocatorConfig.h``). A string that ends too early aborts the process at ``import torch`` from 2.10 on
(pytorch/pytorch#186453); everything else that is wrong raises when CUDA is first used, and the second try crashes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpumem_torch.keys import ACCEPTED, accepts, known, looks_like, reads_whole
from gpumem_torch.release import NEWEST_TESTED, ONE_CONFIGURATION, Release, is_before

Harm = Literal["import", "use", "none"]
"""When a fault hurts: the process ends at import, CUDA cannot be used, or it only misleads."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the string and where it begins."""

    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One key with its value, white space left out."""

    key: str
    value: str
    position: int

    def __str__(self) -> str:
        """Return the entry as the configuration string has it."""
        return f"{self.key}:{self.value}"


@dataclass(frozen=True, slots=True)
class BadToken:
    """Something PyTorch cannot read, or reads otherwise than it looks.

    Attributes:
        text: the token.
        position: where it begins in the string.
        problem: what is wrong, as part of a sentence.
        harm: when it hurts.
    """

    text: str
    position: int
    problem: str
    harm: Harm


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration string, read.

    Attributes:
        entries: what it sets, in order.
        bad: what is wrong with it, in order.
    """

    entries: tuple[Entry, ...] = ()
    bad: tuple[BadToken, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether PyTorch works with it."""
        return all(token.harm == "none" for token in self.bad)

    @property
    def values(self) -> Mapping[str, str]:
        """What is in force by key: the last one wins, of ``backend`` the first (`BackendStaticInitializer`)."""
        found = {entry.key: entry.value for entry in self.entries}
        return found | {entry.key: entry.value for entry in reversed(self.entries) if entry.key == "backend"}


def tokens_of(text: str, release: Release | None = None) -> tuple[Token, ...]:
    """Split a string as PyTorch does.

    Example:
        >>> [token.text for token in tokens_of("a: 1 ,b:[2:3]")]
        ['a', ':', '1', ',', 'b', ':', '[', '2', ':', '3', ']']
    """
    spaces = " " if is_before(release, ONE_CONFIGURATION) else " \t\n\v\f\r"
    found: list[Token] = []
    buffer, start = "", 0
    for position, character in enumerate(text):
        if character in ",:[]":
            if buffer:
                found.append(Token(buffer, start))
                buffer = ""
            found.append(Token(character, position))
        elif character not in spaces:
            start = start if buffer else position
            buffer += character
    return (*found, Token(buffer, start)) if buffer else tuple(found)


def read(text: str, release: Release | None = None) -> Configuration:
    """Read a configuration string as a release of PyTorch does; an unknown release is taken for the newest tested one.

    Example:
        >>> read("expandable_segments:True").entries[0].value
        'True'
        >>> read("max_split_size_mb=64", (2, 14)).bad[0].harm
        'import'
    """
    return _Reader(text, release).read()


class _Reader:
    def __init__(self, text: str, release: Release | None) -> None:
        self.tokens = tokens_of(text, release)
        self.release = release
        self.strict = is_before(release, ONE_CONFIGURATION)
        self.entries: list[Entry] = []
        self.bad: list[BadToken] = []
        self.large_segment = 20

    def read(self) -> Configuration:
        position = 0
        while position < len(self.tokens):
            after = self.entry(position)
            if after is None:
                break
            if after < len(self.tokens):
                self.separator(after, ",")
            position = after + 1
        for entry in self.entries:  # PyTorch looks for this key first
            if entry.key == "large_segment_size_mb" and known(entry.key, self.release):
                self.large_segment = reads_whole(entry.value, self.release) or self.large_segment
        for entry in self.entries:
            self.check(entry)
        return Configuration(tuple(self.entries), tuple(sorted(self.bad, key=lambda token: token.position)))

    def entry(self, position: int) -> int | None:
        """Read one key with its value; return the position after it, None where the string ends too early."""
        key = self.tokens[position]
        if position + 2 >= len(self.tokens):
            self.bad.append(
                BadToken(key.text, key.position, "has no value after it", "use" if self.strict else "import")
            )
            return None
        self.separator(position + 1, ":")
        first = position + 2
        value, after = self.tokens[first].text, first + 1
        if value == "[":
            closing = next((i for i in range(first, len(self.tokens)) if self.tokens[i].text == "]"), None)
            if closing is None and self.strict and first + 1 == len(self.tokens):
                closing = first  # up to 2.9 a bracket at the very end is an empty list
            if closing is None:
                harm: Harm = "use" if self.strict else "import"
                self.bad.append(BadToken("[", self.tokens[first].position, "is not closed with ]", harm))
                return None
            value = "".join(token.text for token in self.tokens[first : closing + 1])
            after = closing + 1
        self.entries.append(Entry(key.text, value, key.position))
        return after

    def separator(self, position: int, wanted: str) -> None:
        token = self.tokens[position]
        if token.text != wanted:
            harm: Harm = "use" if self.strict else "none"
            self.bad.append(BadToken(token.text, token.position, f"stands where {wanted!r} belongs", harm))

    def check(self, entry: Entry) -> None:
        key = known(entry.key, self.release)
        if key is None:
            newer = self.release is None or self.release > NEWEST_TESTED
            problem = "is no key of this release of PyTorch"
            if newer:
                problem = "is no key that gpumem knows (it knows those up to PyTorch 2.14)"
            self.bad.append(BadToken(entry.key, entry.position, problem, "none" if newer else "use"))
        elif not accepts(key, entry.value, self.release, self.large_segment):
            problem = f"cannot be {entry.value!r}; accepted: {ACCEPTED[key.form]}"
            self.bad.append(BadToken(entry.key, entry.position, problem, "use"))
        elif not looks_like(key, entry.value):
            read_as = (
                reads_whole(entry.value, self.release)
                if key.form not in {"open share", "share"}
                else "its first digits"
            )
            self.bad.append(BadToken(entry.key, entry.position, f"{entry.value!r} is read as {read_as}", "none"))


def merge(entries: tuple[Entry, ...], changes: Mapping[str, str | None]) -> str:
    """Return the string with some keys changed; foreign keys stay, and so does the order.

    Args:
        entries: what the user's string sets.
        changes: the new value by key; None removes the key.

    Example:
        >>> merge(read("a:1,expandable_segments:True").entries, {"expandable_segments": "False", "backend": "native"})
        'a:1,expandable_segments:False,backend:native'
    """
    left = dict(changes)
    parts: list[str] = []
    for entry in entries:
        if entry.key not in changes:
            parts.append(str(entry))
        elif entry.key in left:
            value = left.pop(entry.key)
            if value is not None:
                parts.append(f"{entry.key}:{value}")
    parts += [f"{key}:{value}" for key, value in left.items() if value is not None]
    return ",".join(parts)
