"""One table of settings laid over another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_PAIRS: Final = ({"cap", "fraction"}, {"preallocate", "growth"})
"""Each pair is one setting: what says one of them replaces both."""


def without_replaced(base: Mapping[str, object], top: Mapping[str, object]) -> dict[str, object]:
    """Return `base` without the settings that `top` replaces under another name.

    Example:
        >>> without_replaced({"cap": "8GiB", "growth": True}, {"fraction": 0.5})
        {'growth': True}
    """
    replaced = {name for pair in _PAIRS if pair & top.keys() for name in pair}
    return {name: value for name, value in base.items() if name not in replaced}
