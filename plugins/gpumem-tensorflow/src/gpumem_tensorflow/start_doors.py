"""The doors through which TensorFlow creates its GPU allocators, and how they are watched.

`Context.ensure_initialized` is passed by every first use in eager mode. Sessions, servers and the listing of
devices create the same process-wide allocators without it: they are made to pass it first (seen on 2.18.0 and
2.21.0 with a simulated driver). Not watched: a tensorflow.python.grappler.cluster.Cluster.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gpumem_tensorflow.context_view import Context

Start = Callable[[Context, Callable[[Context], None]], None]


class StartDoors:
    """Replaces four functions of TensorFlow, and puts them back."""

    def __init__(self, module: ModuleType, start: Start) -> None:
        """Replace nothing yet.

        Args:
            module: TensorFlow's module of the context.
            start: is given a context that is about to start and TensorFlow's own function that starts it.
        """
        self._module = module
        self._start = start
        self._replaced: list[tuple[Any, str, object, object]] = []

    @property
    def watched(self) -> bool:
        """Whether the doors are watched."""
        return bool(self._replaced)

    def watch(self) -> None:
        """Replace the functions. Imports only what `import tensorflow` has imported already."""
        session = importlib.import_module("tensorflow.python.client.session")
        server = importlib.import_module("tensorflow.python.training.server_lib")
        listing = importlib.import_module("tensorflow.python.client._pywrap_device_lib")
        self._replace(self._module.Context, "ensure_initialized", self._context_door)
        self._replace(session.BaseSession, "__init__", self._session_door)
        self._replace(server.Server, "__init__", self._other_door)
        self._replace(listing, "list_devices", self._other_door)

    def leave(self) -> None:
        """Put TensorFlow's own functions back."""
        for owner, name, original, wrapper in self._replaced:
            # Where somebody wrapped our wrapper, taking ours out would take theirs out too; left alone it does nothing.
            if getattr(owner, name) is wrapper:
                setattr(owner, name, original)
        self._replaced.clear()

    def _replace(self, owner: Any, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        original = getattr(owner, name)
        wrapper = wrap(original)
        functools.update_wrapper(wrapper, original)
        setattr(owner, name, wrapper)
        self._replaced.append((owner, name, original, wrapper))

    def _context_door(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def ensure_initialized(context: Context) -> None:
            if context._initialized or not self._replaced:
                original(context)
            else:
                self._start(context, original)

        return ensure_initialized

    def _other_door(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start_first(*arguments: Any, **named: Any) -> Any:
            if self._replaced:
                self._module.context().ensure_initialized()
            return original(*arguments, **named)

        return start_first

    def _session_door(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start_first(session: Any, target: Any = "", *arguments: Any, **named: Any) -> Any:
            # A session on the server of another process creates no devices here.
            if self._replaced and not target:
                self._module.context().ensure_initialized()
            return original(session, target, *arguments, **named)

        return start_first
