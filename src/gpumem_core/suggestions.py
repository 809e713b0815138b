"""`prefer`: what libraries would like. Appends to a list and does nothing else until somebody configures."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing costs more than the rest of this module; type checkers know the name

if TYPE_CHECKING:
    from typing import Unpack

    from gpumem_core.model.policy import PolicyFields

_suggestions: list[tuple[dict[str, object], str]] = []


def prefer(**fields: Unpack[PolicyFields]) -> None:
    """Suggest policy values on behalf of a library; the application decides.

    Fills only what no other source says, now or later, and only where that is still in time. Reads no file,
    imports nothing, has no effect unless the application declares a policy, and never raises: a suggestion
    with faults is left out, and the report says so.

    Args:
        **fields: fields of `gpumem.Policy`.

    Example:
        >>> import gpumem
        >>> gpumem.prefer(growth=True)
    """
    frame = sys._getframe(1)
    module = frame.f_globals.get("__name__", "?")
    _suggestions.append((dict(fields), f"gpumem.prefer() in {module}, {frame.f_code.co_filename}:{frame.f_lineno}"))
    state = sys.modules.get("gpumem_core.state")
    if state is not None and state.current().decision is not None:
        from gpumem_core.pipeline import reconsider

        reconsider()


def suggestions() -> tuple[tuple[dict[str, object], str], ...]:
    """Return the suggestions with where they were made, oldest first."""
    return tuple(_suggestions)


def forget() -> None:
    """Drop all suggestions (tests)."""
    _suggestions.clear()
