"""Which release of PyTorch is installed, as far as a translation depends on it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

Release = tuple[int, int]
"""The first two numbers of a version, such as ``(2, 14)``."""

NEWEST_TESTED: Final[Release] = (2, 14)

READS_BACK_LIMITS: Final[Release] = (2, 6)
"""`torch._C._cuda_getMemoryFraction` is in the wheel of 2.6.0 and not in that of 2.5.1 (both looked at)."""

LIMITS_WITHOUT_CONTEXT: Final[Release] = (2, 10)
"""Before, setting a limit asks the driver for the device's memory, which makes a CUDA context there, and leaves
that device the current one (seen with 2.5.1, 2.6.0 and 2.9.1 on the simulated GPU; not with 2.14.1)."""

ONE_CONFIGURATION: Final[Release] = (2, 10)
"""From here on PYTORCH_ALLOC_CONF counts for the GPU's allocator, broken strings abort the import, and the setter is
`torch._C._accelerator_setAllocatorSettings` (wheels of 2.9.1 and 2.14.1; pytorch/pytorch#183387)."""


def release_of(version: str | None) -> Release | None:
    """Return the release of a version string, None where there is none to read.

    Example:
        >>> release_of("2.14.1+cu130"), release_of("2.10.0a0+git1"), release_of(None)
        ((2, 14), (2, 10), None)
    """
    match = re.match(r"(\d+)\.(\d+)", version or "")
    return (int(match[1]), int(match[2])) if match else None


def installed_release(versions: Mapping[str, str]) -> Release | None:
    """Return the release of the distribution ``torch`` in `versions`, None where it is not installed."""
    return release_of(versions.get("torch"))


def is_before(release: Release | None, boundary: Release) -> bool:
    """Return whether a release is older than `boundary`; an unknown one is taken for the newest."""
    return release is not None and release < boundary
