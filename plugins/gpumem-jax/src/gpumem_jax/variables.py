"""The variables of JAX, read exactly as its own parser reads them.

Sources: jaxlib/xla_client.py, generate_pjrt_gpu_plugin_options (the same from 0.4.33 to 0.12.0.1 but for the words
of the allocator), jax/_src/xla_bridge.py (the create options), xla/pjrt/gpu/gpu_helpers.cc (unified memory).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

FRACTION: Final = "XLA_PYTHON_CLIENT_MEM_FRACTION"
NEW_FRACTION: Final = "XLA_CLIENT_MEM_FRACTION"
PREALLOCATE: Final = "XLA_PYTHON_CLIENT_PREALLOCATE"
ALLOCATOR: Final = "XLA_PYTHON_CLIENT_ALLOCATOR"
UNIFIED: Final = "TF_FORCE_UNIFIED_MEMORY"
PLATFORMS: Final = "JAX_PLATFORMS"
CREATE_OPTIONS: Final = "JAX_PJRT_CLIENT_CREATE_OPTIONS"
COLLECTIVE_SIZE: Final = "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB"
ABORT: Final = "XLA_PYTHON_CLIENT_ABORT_COLLECTIVES_ON_FAILURE"
TFRT: Final = "XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT"
HOST_LIMIT: Final = "XLA_PJRT_GPU_HOST_MEMORY_LIMIT_GB"
HOST_PREALLOCATE: Final = "XLA_PJRT_GPU_HOST_MEMORY_PREALLOCATE"
ASYNC_PREALLOCATE: Final = "TF_CUDA_MALLOC_ASYNC_SUPPORTED_PREALLOC"
NEVER_READ: Final = "JAX_CUDA_VISIBLE_DEVICES"

WORDS: Final[Mapping[str, str]] = {
    "default": "pool",
    "bfc": "pool",
    "cuda_async": "async",
    "platform": "direct",
    "address": "direct",
    "vmm": "vmm",
}
"""JAX's names of allocators to the words of a policy. Without a setting JAX uses the pool, BFC."""
HOLDS_CAP: Final = frozenset({"pool", "vmm"})
"""The words under which JAX's fraction is a limit."""
GPU_PLATFORMS: Final = frozenset({"cuda", "rocm", "oneapi", "gpu"})


@dataclass(frozen=True, slots=True)
class UserVariables:
    """What the variables say, as far as JAX can read them.

    Attributes:
        fraction: None where it is not set or no number.
        fraction_name: the name that is set, of the two that JAX knows.
        preallocate: None where it is not set.
        allocator: JAX's own word in lower case, None where it is not set.
        unified: whether unified memory is forced.
        create_options: options given as text, which beat the other variables.
    """

    fraction: float | None
    fraction_name: str | None
    preallocate: bool | None
    allocator: str | None
    unified: bool
    create_options: Mapping[str, str]

    @property
    def word(self) -> str:
        """The policy's word for the allocator that these variables choose."""
        native = self.create_options.get("allocator") or self.allocator or "default"
        word = WORDS.get(native, "pool")
        return "managed" if self.unified and word == "pool" else word


def read(environ: Mapping[str, str]) -> UserVariables:
    """Read the variables.

    Example:
        >>> read({"XLA_PYTHON_CLIENT_PREALLOCATE": "FALSE"}).preallocate
        True
    """
    old, new = environ.get(FRACTION, ""), environ.get(NEW_FRACTION, "")
    preallocate = environ.get(PREALLOCATE, "")
    allocator = environ.get(ALLOCATOR)
    return UserVariables(
        fraction=number(new or old),
        fraction_name=NEW_FRACTION if new else (FRACTION if old else None),
        # Only these three spellings mean "off" to JAX.
        preallocate=preallocate not in {"false", "False", "0"} if preallocate else None,
        allocator=None if allocator is None else allocator.lower(),
        unified=environ.get(UNIFIED, "").lower() in {"1", "true"},
        create_options=split_options(environ.get(CREATE_OPTIONS, "")),
    )


def number(text: str) -> float | None:
    """Return the number that JAX reads from a text, None where it finds none."""
    try:
        return float(text)
    except ValueError:
        return None


def is_share(value: float | None) -> bool:
    """Return whether a number is a share of the total, above 0 and at most 1."""
    return value is not None and math.isfinite(value) and 0 < value <= 1


def split_options(text: str) -> dict[str, str]:
    """Return the options in a text like ``a:1;b:2``, in their order; entries that JAX would refuse are left out.

    Example:
        >>> split_options("allocator:bfc;x:1:2")
        {'allocator': 'bfc'}
    """
    pairs = [entry.split(":") for entry in text.split(";") if entry]
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def join_options(options: Mapping[str, str]) -> str:
    """Return options as the text that JAX reads."""
    return ";".join(f"{name}:{value}" for name, value in options.items())


def without_gpus(platforms: str) -> str:
    """Return a list of platforms without those that use a GPU; ``cpu`` where nothing is left.

    Example:
        >>> without_gpus("cuda,tpu"), without_gpus("")
        ('tpu', 'cpu')
    """
    names = [name.strip() for name in platforms.split(",") if name.strip()]
    return ",".join(name for name in names if name not in GPU_PLATFORMS) or "cpu"


def excludes_gpus(platforms: str | None) -> bool:
    """Return whether a list of platforms leaves no GPU to JAX; without a list every platform is tried."""
    names = {name.strip() for name in (platforms or "").split(",") if name.strip()}
    return bool(names) and not names & GPU_PLATFORMS
