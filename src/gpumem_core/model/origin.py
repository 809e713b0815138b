"""Where a value comes from, and how strong that place is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Rank(IntEnum):
    """The strength of a source. A lower number wins."""

    ENVIRONMENT = 1
    """``GPUMEM_*`` variables: whoever launches a program has the last word."""
    ARGUMENTS = 2
    """Arguments of ``gpumem.configure()``."""
    NATIVE = 4
    """The framework's own settings, made by the user."""
    PROJECT_FILE = 5
    """``[tool.gpumem]`` in pyproject.toml, or gpumem.toml."""
    SUGGESTION = 7
    """``gpumem.prefer()``, called by libraries."""
    DEFAULT = 9
    """What gpumem itself assumes where nobody says anything."""


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """The place a value comes from.

    Attributes:
        rank: how strong the place is.
        text: the place in words that a person can act on, such as ``environment GPUMEM_CAP``,
            ``/repo/pyproject.toml: tool.gpumem.cap`` or ``train.py:3``.
    """

    rank: Rank
    text: str

    def __str__(self) -> str:
        """Return the place in words."""
        return self.text


DEFAULT_ORIGIN = Origin(Rank.DEFAULT, "gpumem's default")
