"""What numbat says is in force."""

from __future__ import annotations

from types import ModuleType

from gpumem.plugin import Observation

_SOURCE = "numbat.pool()"


def observe(module: ModuleType) -> tuple[Observation, ...]:
    """Return the limit and the growth of the pool; before the first allocation there is none to read."""
    pool = getattr(module, "pool", lambda: None)()  # an empty module of this name is not numbat
    if pool is None:
        why = "numbat makes its pool at the first allocation"
        return tuple(Observation(field, None, None, _SOURCE, why) for field in ("limit", "preallocate"))
    return (
        Observation("limit", None, pool.limit or 0, _SOURCE, held=pool.held),
        Observation("preallocate", None, pool.take_all, _SOURCE),
    )
