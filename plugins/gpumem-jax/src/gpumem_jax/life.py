"""The one place that looks into JAX's internals, and only looks: attributes, never a function that takes a lock.

`jax._src.xla_bridge` has had the same names from 0.4.30 to 0.12.0.1. Its `backends_are_initialized()` takes a lock
that another thread holds for as long as a client is made, so it is not called. The moments of JAX's life:

1. ``import jax`` reads JAX_PLATFORMS and JAX_PJRT_CLIENT_CREATE_OPTIONS.
2. The first use of anything that needs a device discovers the backends: the XLA_* variables become options of the
   CUDA backend, once per process (`_plugins_registered`).
3. Right after it the clients are made (`_backends`): the options, overlaid by `jax_pjrt_client_create_options`, and
   `jax_cuda_visible_devices` are used; nothing can be changed any more.
4. The first allocation on a device takes its memory.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

from gpumem_jax.variables import split_options

BRIDGE: Final = "jax._src.xla_bridge"
GPU_BACKENDS: Final = ("cuda", "rocm", "oneapi")


@dataclass(frozen=True, slots=True)
class Life:
    """Where JAX stands.

    Attributes:
        discovered: whether the options are frozen.
        busy: whether some thread is discovering backends or making clients right now.
        clients: the clients by backend; empty before they are made.
        registered: the GPU backend that was discovered, empty if none was.
        options: the frozen options of the GPU backend; None before, or where they cannot be found.
        overlay: what `jax_pjrt_client_create_options` lays over them.
        platforms: the list of platforms, None for all.
        visible: the value of `jax_cuda_visible_devices`.
    """

    discovered: bool = False
    busy: bool = False
    clients: Mapping[str, Any] = field(default_factory=dict)
    registered: str = ""
    options: MutableMapping[str, Any] | None = None
    overlay: Mapping[str, Any] = field(default_factory=dict)
    platforms: str | None = None
    visible: str = "all"

    @property
    def gpu_client(self) -> Any:
        """The client of the GPU backend, None while there is none."""
        return next((self.clients[name] for name in GPU_BACKENDS if name in self.clients), None)

    @property
    def used_options(self) -> Mapping[str, Any] | None:
        """The options with which a client is made: the frozen ones overlaid by the configured ones."""
        return None if self.options is None else {**self.options, **self.overlay}


def bridge() -> Any:
    """Return JAX's module that makes the clients; None while JAX is not imported, or is no JAX."""
    found = sys.modules.get(BRIDGE)
    if found is None or not isinstance(sys.modules.get("jax"), ModuleType):
        return None
    return found if hasattr(found, "_backends") and hasattr(found, "_plugins_registered") else None


def look() -> Life | None:
    """Return where JAX stands, None while it is not imported."""
    xb = bridge()
    if xb is None:
        return None
    locks = [getattr(xb, name, None) for name in ("_backend_lock", "_plugin_lock")]
    registered = next((name for name in GPU_BACKENDS if frozen_options(xb, name) is not None), "")
    config = getattr(sys.modules["jax"], "config", None)
    flag = getattr(xb, "CUDA_VISIBLE_DEVICES", None)
    return Life(
        discovered=bool(xb._plugins_registered),
        busy=any(lock.locked() for lock in locks if lock is not None),
        clients=dict(xb._backends or {}),
        registered=registered,
        options=frozen_options(xb, registered),
        overlay=overlay_of(getattr(config, "jax_pjrt_client_create_options", None)),
        platforms=getattr(config, "jax_platforms", None),
        visible=str(getattr(flag, "value", "all")),
    )


def overlay_of(configured: object) -> dict[str, Any]:
    """Return the value of `jax_pjrt_client_create_options`, text or dict, as a dict."""
    if isinstance(configured, Mapping):
        return dict(configured)
    return dict(split_options(configured)) if isinstance(configured, str) else {}


def frozen_options(xb: Any, backend: str) -> MutableMapping[str, Any] | None:
    """Return the very dict from which JAX takes the options of a backend; None where there is none.

    The factory is a `functools.partial` in newer versions and a closure in older ones (run on 0.4.35 and 0.12.0.1).
    """
    factory = getattr(getattr(xb, "_backend_factories", {}).get(backend), "factory", None)
    keywords = getattr(factory, "keywords", None)
    options = keywords.get("options") if isinstance(keywords, Mapping) else _free_variable(factory, "options")
    return options if isinstance(options, MutableMapping) else None


def _free_variable(function: Any, name: str) -> object:
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    return next((cell.cell_contents for free, cell in zip(names, cells, strict=False) if free == name), None)


def lost(life: Life) -> str:
    """Return the sentence on a JAX that started without a GPU."""
    if not life.registered:
        return (
            f"JAX started without a GPU (clients: {', '.join(life.clients)}): its CUDA backend was not registered; "
            'look for "Jax plugin configuration error" in the log'
        )
    return f"JAX started without a GPU (clients: {', '.join(life.clients)}): no client of {life.registered} was made"
