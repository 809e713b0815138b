"""What the user's own CUPY_GPU_MEMORY_LIMIT means to CuPy."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gpumem.plugin import NativeFault, NativeReading, NativeSetting, Size
from gpumem_cupy.describe import LIMIT_VARIABLE

_LARGEST_SIZE_T = (1 << 64) - 1
_LARGEST_SIZE = (1 << 63) - 1
_SOURCE = f"environment {LIMIT_VARIABLE}"
_RAISES = "so that CuPy raises an error at the first use of its memory pool, and at every later one"


def read_variables(environ: Mapping[str, str], versions: Mapping[str, str]) -> NativeReading:
    """Read the variable as CuPy does.

    CuPy takes ``int(text)`` bytes, or ``float(text[:-1]) / 100`` of the total where the text ends in ``%``, and
    nothing else (cupy/cuda/memory.pyx 14.2.0, `_parse_limit_string`, line 1204; 13.3.0 has the same). The text is
    read when a pool is first used, not at the import.
    """
    text = environ.get(LIMIT_VARIABLE)
    if text is None:
        return NativeReading()
    if text.endswith("%"):
        return _percentage(text, versions)
    return _amount(text)


def _amount(text: str) -> NativeReading:
    try:
        amount = int(text)
    except ValueError:
        return _fatal(text, f"is neither a whole number of bytes nor a percentage, {_RAISES}")
    if amount < 0:
        return _fatal(text, f"is negative, {_RAISES}")
    if amount > _LARGEST_SIZE_T:
        return _fatal(text, f"does not fit into 64 bits, {_RAISES}")
    if amount == 0:
        return _no_limit(text, "means no limit to CuPy, not a limit of nothing")
    if amount > _LARGEST_SIZE:
        return _no_limit(text, "is more than any device has, so CuPy limits nothing")
    return NativeReading(settings=(NativeSetting("cap", Size(bytes=amount), _SOURCE),))


def _percentage(text: str, versions: Mapping[str, str]) -> NativeReading:
    try:
        share = float(text[:-1]) / 100.0
    except ValueError:
        return _fatal(text, f"has no number before the percent sign, {_RAISES}")
    if math.isnan(share) or not 0 <= share <= 1:
        return _fatal(text, f"is outside of 0% to 100%, {_RAISES}")
    if share == 0:
        return _no_limit(text, "means no limit to CuPy, not a limit of nothing")
    faults: tuple[NativeFault, ...] = ()
    if not all(_major(version) < 14 for version in versions.values()) or not versions:
        # MemoryPool._ensure_pools_and_return_device_pool (cupy/cuda/memory.pyx 14.0.0 to 14.2.0) makes the pools of
        # all devices at once without switching to each; 13.3.0 made each while its device was current.
        problem = (
            "is taken by CuPy 14 of the device that is current at the first use of the pool, for every device; "
            "on unequal cards write bytes"
        )
        faults = (NativeFault(LIMIT_VARIABLE, text, problem),)
    return NativeReading(settings=(NativeSetting("fraction", share, _SOURCE),), faults=faults)


def _major(version: str) -> int:
    first = version.partition(".")[0]
    return int(first) if first.isdigit() else 14


def _fatal(text: str, problem: str) -> NativeReading:
    return NativeReading(faults=(NativeFault(LIMIT_VARIABLE, text, problem, fatal=True),))


def _no_limit(text: str, problem: str) -> NativeReading:
    return NativeReading((NativeSetting("cap", None, _SOURCE),), (NativeFault(LIMIT_VARIABLE, text, problem),))
