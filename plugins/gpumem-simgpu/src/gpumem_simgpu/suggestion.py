"""What somebody probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" for the closest of the known words, else nothing."""
    choices = list(known)
    beginning = [one for one in sorted(choices, key=len) if word and one.lower().startswith(word.lower())]
    close = beginning or difflib.get_close_matches(word.lower(), choices, n=1, cutoff=0.6)
    return f"; did you mean {' or '.join(close[:3])}?" if close else ""
