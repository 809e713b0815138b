"""In which state JAX is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpumem.plugin import Answer, FrameworkState, NativeSetting, cuda_state
from gpumem_jax import builds
from gpumem_jax.life import BRIDGE, Life, look, lost
from gpumem_jax.native import hidden_by
from gpumem_jax.observe import observe_life
from gpumem_jax.state import STATE
from gpumem_jax.variables import PLATFORMS, WORDS, excludes_gpus, is_share


def find_state(environ: Mapping[str, str]) -> FrameworkState:
    """Return the state, found without importing or starting anything.

    Args:
        environ: the environment without what gpumem wrote.
    """
    versions = builds.installed()
    life = None if _imported() is Answer.NO else look()
    details: dict[str, object] = {"driver_runs": cuda_state().initialised}
    if life is None:
        state = FrameworkState(versions, imported=_imported(), evidence=f"{BRIDGE} is not loaded", details=details)
    else:
        details |= {"frozen": life.discovered, "rescue": life.options is not None, "overlay": sorted(life.overlay)}
        state = FrameworkState(
            versions,
            imported=Answer.YES,
            started=_started(life),
            evidence=_evidence(life),
            settings=tuple(_settings(life)),
            observations=observe_life(life),
            details=details,
        )
    why_not = _why_not(life, environ, versions)
    return replace(state, applicable=False, why_not=why_not) if why_not else state


def _imported() -> Answer:
    module = sys.modules.get("jax")
    if module is None:
        return Answer.NO
    # It is being imported right now, or a file of the user has its name.
    spec = getattr(module, "__spec__", None)
    return Answer.NO if getattr(spec, "_initializing", False) else Answer.UNKNOWN


def _started(life: Life) -> Answer:
    if life.gpu_client is not None:
        return Answer.YES
    return Answer.UNKNOWN if life.busy else Answer.NO


def _evidence(life: Life) -> str:
    if life.gpu_client is not None:
        return f"{BRIDGE}._backends holds {', '.join(life.clients)}"
    if life.busy:
        return f"a lock of {BRIDGE} is taken: some thread starts JAX right now"
    if life.discovered:
        return f"{BRIDGE}._plugins_registered is True, but no GPU client exists"
    return f"{BRIDGE}._plugins_registered is False"


def _settings(life: Life) -> Iterator[NativeSetting]:
    """Yield what the user set through JAX's own configuration, apart from what gpumem set there."""
    source = "jax.config jax_pjrt_client_create_options"
    ours = STATE.written
    theirs: dict[str, Any] = {
        name: value for name, value in life.overlay.items() if name not in ours or ours[name] != value
    }
    if isinstance(theirs.get("memory_fraction"), float) and is_share(theirs["memory_fraction"]):
        yield NativeSetting("fraction", theirs["memory_fraction"], source)
    if isinstance(theirs.get("preallocate"), bool):
        yield NativeSetting("preallocate", theirs["preallocate"], source)
    if theirs.get("allocator") in WORDS and os.environ.get("JAX_PJRT_CLIENT_CREATE_OPTIONS", "") == "":
        yield NativeSetting("allocator", WORDS[theirs["allocator"]], source)
    if life.visible != "all" and life.visible != ours.get("jax_cuda_visible_devices"):
        ordinals = [part.strip() for part in life.visible.split(",")]
        if all(part.isdigit() for part in ordinals):
            yield NativeSetting("visible", tuple(int(part) for part in ordinals), "jax.config jax_cuda_visible_devices")


def _why_not(life: Life | None, environ: Mapping[str, str], versions: Mapping[str, str]) -> str:
    """Return why this process has no GPU for JAX, empty where it may have one."""
    if life is not None and life.gpu_client is not None:
        return ""
    if life is None:
        hidden = hidden_by(environ)
        if hidden:
            return hidden
    elif excludes_gpus(life.platforms) and not _hidden_by_gpumem(life, environ):
        return f'jax.config.jax_platforms is "{life.platforms}", which leaves no GPU to JAX'
    if not builds.has_gpu_backend(versions):
        return "a JAX for the CPU is installed: neither jax-cuda12-plugin nor jax-cuda13-plugin is there"
    if life is not None and life.clients and not excludes_gpus(life.platforms):
        return lost(life)
    return ""


def _hidden_by_gpumem(life: Life, environ: Mapping[str, str]) -> bool:
    if STATE.written.get("jax_platforms") == life.platforms:
        return True
    # Imported after gpumem wrote the variable: without it, JAX would have other platforms.
    return os.environ.get(PLATFORMS) == life.platforms != environ.get(PLATFORMS)
