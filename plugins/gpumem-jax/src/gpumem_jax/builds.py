"""Which JAX is installed, and what that version can do. Read from metadata; nothing is imported."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gpumem.plugin import installed_versions

DISTRIBUTIONS: Final = (
    "jax",
    "jaxlib",
    "jax-cuda12-plugin",
    "jax-cuda13-plugin",
    "jax-cuda12-pjrt",
    "jax-cuda13-pjrt",
)
Version = tuple[int, ...]

DICTIONARY_OPTIONS: Final = (0, 6, 2)
"""jax from which `jax_pjrt_client_create_options` takes a dict (jax commit 26228f5a0c; run on 0.6.0 and 0.7.2)."""
VMM: Final = (0, 10, 0)
"""jaxlib from which the allocator ``vmm`` exists (jaxlib/xla_client.py; run on 0.4.35 and 0.12.0)."""
PLATFORM_IS_BFC: Final = ((0, 10, 1), (0, 10, 2))
"""Versions whose ``platform`` allocator is BFC in truth (https://github.com/jax-ml/jax/issues/39145)."""
ABORT_COLLECTIVES: Final = (0, 7, 0)
"""jaxlib from which XLA_PYTHON_CLIENT_ABORT_COLLECTIVES_ON_FAILURE is read (jaxlib/xla_client.py)."""
TFRT_CLIENT: Final = (0, 7, 1)
"""jaxlib from which XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT is read (jaxlib/xla_client.py)."""


def parse(text: str | None) -> Version | None:
    """Return the first three numbers of a version, None without one.

    Example:
        >>> parse("0.12.0.1"), parse("0.6.0rc1"), parse(None)
        ((0, 12, 0), (0, 6, 0), None)
    """
    numbers = re.match(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?", text or "")
    return tuple(int(part or 0) for part in numbers.groups()) if numbers else None


def jax_version(versions: Mapping[str, str]) -> Version | None:
    """Return the version of jax itself: its life-cycle."""
    return parse(versions.get("jax"))


def jaxlib_version(versions: Mapping[str, str]) -> Version | None:
    """Return the version of jaxlib, which reads the variables."""
    return parse(versions.get("jaxlib"))


def backend_version(versions: Mapping[str, str]) -> Version | None:
    """Return the version of the CUDA backend, where the allocators are; jaxlib's where that is not installed."""
    for name in ("jax-cuda13-pjrt", "jax-cuda12-pjrt", "jaxlib"):
        if name in versions:
            return parse(versions[name])
    return None


def installed() -> dict[str, str]:
    """Return the installed distributions of JAX with their versions."""
    return installed_versions(DISTRIBUTIONS)


def has_gpu_backend(versions: Mapping[str, str]) -> bool:
    """Return whether a GPU backend of JAX is installed; True where that cannot be excluded.

    Without metadata (conda, source builds) the folders are looked for in which a backend may be: a package below
    ``jax_plugins``, or ``jaxlib/cuda`` in builds of jaxlib up to 0.5.3 that hold everything.
    """
    if any("cuda" in name for name in versions) or "jax" not in versions:
        return True
    return any(
        path.name.startswith("xla_") or path.name == "cuda"
        for package in ("jax_plugins", "jaxlib")
        for folder in _folders(package)
        for path in folder.iterdir()
        if path.is_dir()
    )


def _folders(package: str) -> list[Path]:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # ValueError: a module in sys.modules that has no spec
        return []
    found = spec.submodule_search_locations if spec else None
    return [Path(folder) for folder in found or () if Path(folder).is_dir()]
