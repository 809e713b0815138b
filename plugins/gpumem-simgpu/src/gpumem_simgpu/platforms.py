"""Whether there can be simulated devices here at all."""

from __future__ import annotations

import os
import platform
import sys

from gpumem_simgpu.errors import SimulationError


def require_platform() -> None:
    """Raise one sentence where the simulated driver cannot be built or loaded."""
    here = f"{platform.system() or sys.platform} on {platform.machine() or 'an unknown processor'}"
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64") or sys.maxsize < 1 << 32:
        message = f"The simulated GPU needs 64-bit Linux on x86-64, and this is {here}: run it in such a container."
        raise SimulationError(message)
    if not _glibc():
        message = (
            "The simulated GPU needs glibc, which the frameworks' own wheels need too, and this Linux has another C "
            "library: use an image with glibc, such as Debian, Ubuntu or Fedora."
        )
        raise SimulationError(message)


def _glibc() -> str:
    """Return the version of glibc, or nothing under another C library."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):
        return ""
