"""Environment variables that gpumem writes, with what is needed to restore them exactly."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping


class VariableJournal:
    """Writes variables and remembers what stood there before.

    Args:
        environ: the environment to write to.
    """

    def __init__(self, environ: MutableMapping[str, str] = os.environ) -> None:
        """Start with nothing written."""
        self._environ = environ
        self._before: dict[str, str | None] = {}
        self._written: dict[str, str | None] = {}

    def set(self, name: str, value: str | None) -> None:
        """Set a variable, or remove it with None. Nothing is written where it is so already."""
        current = self._environ.get(name)
        if current == value:
            return
        self._before.setdefault(name, current)
        self._written[name] = value
        if value is None:
            del self._environ[name]
        else:
            self._environ[name] = value

    @property
    def written(self) -> Mapping[str, str | None]:
        """The variables that were changed, with the values written; None for a removed one."""
        return dict(self._written)

    def base(self) -> dict[str, str]:
        """Return the environment without what was written here, as far as nobody changed it since."""
        environ = dict(self._environ)
        for name, value in self._written.items():
            if environ.get(name) == value:
                before = self._before[name]
                if before is None:
                    environ.pop(name, None)
                else:
                    environ[name] = before
        return environ

    def restore(self, names: frozenset[str] | None = None) -> tuple[str, ...]:
        """Put back what stood there before.

        Args:
            names: which variables; None for all.

        Returns:
            a sentence for each variable that somebody else changed since and that is left as it is.
        """
        left: list[str] = []
        for name in [name for name in self._written if names is None or name in names]:
            value, before = self._written.pop(name), self._before.pop(name)
            if self._environ.get(name) != value:
                left.append(f"{name} was changed by somebody else since and is left as it is")
            elif before is None:
                self._environ.pop(name, None)
            else:
                self._environ[name] = before
        return tuple(left)
