"""What gpumem has put into JAX in this process, and what waits for JAX's start: the plugin's only mutable state.

A forked child inherits it together with JAX's own state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpumem.plugin import Progress, Undo


@dataclass(slots=True)
class Intention:
    """Options of the GPU client that are put in force when JAX discovers its backends.

    Attributes:
        arguments: the call's arguments, see `translate_call.client_options_call`.
        progress: where to tell what became of it.
        fired: whether the discovery has come.
        undo: takes the options back, None while they are not in force.
    """

    arguments: Mapping[str, Any]
    progress: Progress
    fired: bool = False
    undo: Undo | None = None


@dataclass(slots=True)
class PluginState:
    """The state.

    Attributes:
        intention: what waits for the discovery of backends.
        written: what gpumem wrote into JAX's configuration or frozen options, by name: to tell it from what the
            user's own calls wrote there.
    """

    intention: Intention | None = None
    written: dict[str, Any] = field(default_factory=dict)

    @property
    def limit_in_bytes(self) -> bool:
        """Whether the limit of devices that the plan did not know is verified in bytes, not as a fraction."""
        return self.intention is not None and bool(self.intention.arguments.get("limit_in_bytes"))


STATE = PluginState()
