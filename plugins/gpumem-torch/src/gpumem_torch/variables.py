"""The environment variables of PyTorch's allocator: which one counts, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gpumem_torch.release import ONE_CONFIGURATION, Release, is_before

CUDA_NAME: Final = "PYTORCH_CUDA_ALLOC_CONF"
HIP_NAME: Final = "PYTORCH_HIP_ALLOC_CONF"
NEW_NAME: Final = "PYTORCH_ALLOC_CONF"
NO_CACHING: Final = "PYTORCH_NO_CUDA_MEMORY_CACHING"

CACHING_BY_VALUE: Final[Release] = (2, 7)
"""Before, the mere presence of PYTORCH_NO_CUDA_MEMORY_CACHING switches caching off, whatever its value; from then on
only the value 1 does (tried with 2.5.1, 2.6.0, 2.7.1, 2.9.1, 2.14.1; pytorch/pytorch#145661)."""


def deciding_name(environ: Mapping[str, str], release: Release | None) -> str | None:
    """Return the variable that a CUDA build reads for the GPU's allocator, None where none counts.

    Up to 2.9 only PYTORCH_CUDA_ALLOC_CONF (pytorch/pytorch#183387). From 2.10 on the first one that is *set*, even to
    nothing: PYTORCH_CUDA_ALLOC_CONF, then PYTORCH_ALLOC_CONF (`CUDAAllocatorConfig::instance`, header of 2.14.1).
    """
    if CUDA_NAME in environ:
        return CUDA_NAME
    if NEW_NAME in environ and not is_before(release, ONE_CONFIGURATION):
        return NEW_NAME
    return None


def text_in_force(environ: Mapping[str, str], release: Release | None) -> str:
    """Return the configuration string that PyTorch reads at its start, empty where there is none."""
    name = deciding_name(environ, release)
    return environ[name] if name else ""


def text_to_extend(environ: Mapping[str, str], release: Release | None) -> str:
    """Return the user's string that gpumem adds its keys to: the one in force, else the one that was meant to be."""
    return text_in_force(environ, release) or environ.get(NEW_NAME, "")


def caching_is_off(environ: Mapping[str, str], release: Release | None) -> bool:
    """Return whether PYTORCH_NO_CUDA_MEMORY_CACHING, as it stands, makes PyTorch allocate without its cache."""
    if is_before(release, CACHING_BY_VALUE):
        return NO_CACHING in environ
    return environ.get(NO_CACHING) == "1"
