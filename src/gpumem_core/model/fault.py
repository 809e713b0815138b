"""One thing that is wrong with a declared policy."""

from __future__ import annotations

from dataclasses import dataclass

from gpumem_core.model.origin import Origin


@dataclass(frozen=True, slots=True)
class Fault:
    """A value or a key that cannot be accepted.

    Attributes:
        key: the dotted key, such as ``frameworks.NAME.cap``.
        origin: where it was declared.
        problem: what is wrong, as part of a sentence.
        accepted: the accepted forms, empty where that does not apply.
        suggestion: what was probably meant, empty where nothing is near.
    """

    key: str
    origin: Origin
    problem: str
    accepted: str = ""
    suggestion: str = ""

    def __str__(self) -> str:
        """Return the fault as one line."""
        text = f"{self.key} ({self.origin}): {self.problem}"
        if self.suggestion:
            text += f"; did you mean {self.suggestion}?"
        if self.accepted:
            text += f"{'' if text.endswith('?') else '.'} Accepted: {self.accepted}"
        return text
