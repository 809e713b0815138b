"""All the state of gpumem in this process. The only module with module-level mutable state.

Don't reload this module. `reset` of the tests and of the public API goes through `forget`.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpumem_core.applying.ledger import Ledger
    from gpumem_core.decide_policy import Decision
    from gpumem_core.model.declaration import Declared


@dataclass(slots=True)
class ProcessState:
    """What gpumem knows and did in this process.

    Attributes:
        arguments: what `configure` was last called with, None before.
        decision: the last resolved policy with its plans, None before `configure`.
        ledger: what was changed and is to come, None before `configure`.
        registered: plugins registered by code, by framework name.
        warned: warnings already given, so that each comes once.
        free_memory: the free bytes per device as first resolved (``"80% free"`` is resolved once per process).
    """

    arguments: Declared | None = None
    decision: Decision | None = None
    ledger: Ledger | None = None
    registered: dict[str, object] = field(default_factory=dict)
    warned: set[tuple[str, str]] = field(default_factory=set)
    free_memory: dict[int, int] = field(default_factory=dict)


_state = ProcessState()
_lock = threading.RLock()


def current() -> ProcessState:
    """Return the state of this process."""
    return _state


def lock() -> threading.RLock:
    """Return the lock that `configure`, `report`, `verify` and `reset` take; watch callbacks never do."""
    return _lock


def forget() -> None:
    """Start anew, as in a fresh interpreter. Undoes nothing: `gpumem.reset` does."""
    global _state
    _state = ProcessState()


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
