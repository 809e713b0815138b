"""The calls of a plan."""

from __future__ import annotations

from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, Final

from gpumem.plugin import Progress, RuntimeCall, Undo
from gpumem_jax.client_options import JaxStartedError
from gpumem_jax.discovery import initialize
from gpumem_jax.life import bridge, look
from gpumem_jax.start import put_in_force
from gpumem_jax.state import STATE, Intention

_UNTIL: Final = "until JAX first uses a device"


def carry_out(call: RuntimeCall, module: ModuleType, progress: Progress) -> Undo | None:
    """Carry out one call with JAX's module.

    Raises:
        RuntimeError: when the module is no JAX, or JAX has started.
    """
    life = look()
    if life is None:
        message = "the module jax has no jax._src.xla_bridge; is it another module of that name?"
        raise RuntimeError(message)
    if life.gpu_client is not None:
        message = "JAX has made its GPU client"
        raise JaxStartedError(message)
    if call.name == "update_config":
        return _update_config(module, str(call.arguments["name"]), call.arguments["value"])
    if call.name == "client_options":
        return _client_options(Intention(dict(call.arguments), progress), discovered=life.discovered)
    message = f"unknown call {call.name}"
    raise RuntimeError(message)


def _update_config(module: Any, name: str, value: object) -> Undo:
    life = look()
    before = life.platforms if life and name == "jax_platforms" else life.visible if life else None
    module.config.update(name, value)
    STATE.written[name] = value

    def undo() -> None:
        after = look()
        if after is not None and after.clients:
            message = "JAX has started"
            raise JaxStartedError(message)
        module.config.update(name, before)
        STATE.written.pop(name, None)

    return undo


def _client_options(intention: Intention, *, discovered: bool) -> Undo:
    before = STATE.intention
    STATE.intention = intention
    if discovered:
        put_in_force(intention)
    else:
        _make_sure_of_the_call()
        intention.progress.pending(_UNTIL)

    def undo() -> None:
        if intention.undo is not None:
            intention.undo()  # raises once JAX has started; then the intention stays what is in force
        STATE.intention = before

    return undo


def _make_sure_of_the_call() -> None:
    """Have JAX call `discovery.initialize` even where the entry point is not installed (frozen applications)."""
    if any(point.value == "gpumem_jax.discovery" for point in entry_points(group="jax_plugins")):
        return
    # JAX calls this back at the end of the discovery, once per backend it found; the second call finds nothing to do.
    bridge().register_plugin_callbacks(lambda c_api: initialize())  # noqa: ARG005 - called by that name
