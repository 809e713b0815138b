"""The module that JAX itself calls when it discovers its backends (entry-point group ``jax_plugins``).

JAX imports it and calls `initialize` before it makes a client, in every supported version (jax/_src/xla_bridge.py,
discover_pjrt_plugins). It registers no backend. Where gpumem is not configured it does nothing.
"""

from __future__ import annotations

import sys


def initialize() -> None:
    """Put in force what waits for JAX's start. Never raises: what fails is reported by gpumem."""
    state = sys.modules.get("gpumem_jax.state")
    intention = state.STATE.intention if state is not None else None
    if intention is None or intention.fired:
        return
    from gpumem_jax.start import put_in_force  # not even loaded where gpumem is not configured

    try:
        put_in_force(intention)
    except Exception as error:  # noqa: BLE001 - JAX would only log it; gpumem reports it to the user
        intention.progress.failed(error)
