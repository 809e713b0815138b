"""Options of JAX's GPU client, put where JAX takes them from when it makes that client.

From jax 0.6.2 on `jax_pjrt_client_create_options` takes a dict, which beats what the variables said. Before it took
only text, in which numbers cannot stand (run on 0.4.35: a dict is accepted and breaks the start): there the dict
that JAX froze at the discovery of its backends is changed, which is private to JAX and checked for its shape first.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from gpumem.plugin import Progress, Undo
from gpumem_jax import builds
from gpumem_jax.life import GPU_BACKENDS, bridge, frozen_options, look, overlay_of
from gpumem_jax.state import STATE
from gpumem_jax.variables import join_options

CONFIG: Final = "jax_pjrt_client_create_options"
_ABSENT: Final = object()


class JaxStartedError(RuntimeError):
    """JAX made its GPU client meanwhile, so that its options can no longer be changed."""


def put(options: Mapping[str, Any], progress: Progress, note: str) -> Undo:
    """Put options in force for the GPU client that JAX makes next.

    Args:
        options: by JAX's own names.
        progress: told when they are in force; at once, or at the end of the discovery of backends.
        note: what to tell then.

    Returns:
        a function that takes them back; it raises once JAX has started.

    Raises:
        JaxStartedError: when there is a GPU client already.
        RuntimeError: when this JAX has neither way.
    """
    _refuse_if_started()
    if _takes_dictionaries():
        return _configure(options, progress, note)
    return _change_frozen(options, progress, note)


def _refuse_if_started() -> None:
    life = look()
    if life is None:
        message = "the module jax has no jax._src.xla_bridge; is it another module of that name?"
        raise RuntimeError(message)
    if life.gpu_client is not None:
        message = "JAX has made its GPU client; its options hold until the process ends"
        raise JaxStartedError(message)


def _takes_dictionaries() -> bool:
    version = builds.parse(str(getattr(sys.modules["jax"], "__version__", "")))
    return version is not None and version >= builds.DICTIONARY_OPTIONS


def _configure(options: Mapping[str, Any], progress: Progress, note: str) -> Undo:
    """Lay the options over those that the user configured; his other ones are kept."""
    config: Any = sys.modules["jax"].config
    configured = getattr(config, CONFIG)
    before = {name: overlay_of(configured).get(name, _ABSENT) for name in options}
    config.update(CONFIG, {**overlay_of(configured), **options})
    STATE.written.update(options)
    _refuse_if_started()
    progress.done(note)

    def undo() -> None:
        _refuse_if_started()
        now = overlay_of(getattr(config, CONFIG))
        _restore(now, options, before)
        config.update(CONFIG, now or (configured if isinstance(configured, str) else None))

    return undo


def _change_frozen(options: Mapping[str, Any], progress: Progress, note: str) -> Undo:
    xb = bridge()
    undone: list[Undo] = [_remove_text(options)]

    def change() -> bool:
        frozen = next((found for name in GPU_BACKENDS if (found := frozen_options(xb, name)) is not None), None)
        if frozen is None:
            return False
        before = {name: frozen.get(name, _ABSENT) for name in options}
        frozen.update(options)
        STATE.written.update(options)
        undone.append(lambda: _restore(frozen, options, before))
        progress.done(note)
        return True

    def at_the_end(c_api: object) -> None:  # noqa: ARG001 - called by that name, once per backend
        try:
            if len(undone) == 1 and not change():
                progress.failed("JAX keeps the options of its GPU backend in another way than is known")
        except Exception as error:  # noqa: BLE001 - an exception here would make JAX's start fail
            progress.failed(error)

    if not change():
        if xb._plugins_registered:
            message = "JAX registered no GPU backend, or keeps its options in another way than is known"
            raise RuntimeError(message)
        # Its backend is discovered after this one: JAX calls this back at the end of the discovery.
        xb.register_plugin_callbacks(at_the_end)

    def undo() -> None:
        _refuse_if_started()
        for step in reversed(undone):
            step()

    return undo


def _remove_text(options: Mapping[str, Any]) -> Undo:
    """Take out of the configured text what would beat the frozen options."""
    config: Any = sys.modules["jax"].config
    configured = getattr(config, CONFIG)
    text = overlay_of(configured)
    if not text.keys() & options.keys():
        return lambda: None
    config.update(CONFIG, join_options({name: value for name, value in text.items() if name not in options}))

    def undo() -> None:
        config.update(CONFIG, configured)

    return undo


def _restore(now: Any, options: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Put back what stood there, where what was written still stands."""
    for name, value in options.items():
        if now.get(name, _ABSENT) == value:
            if before[name] is _ABSENT:
                del now[name]
            else:
                now[name] = before[name]
        STATE.written.pop(name, None)
