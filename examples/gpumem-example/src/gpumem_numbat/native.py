"""What the user's own variables mean to numbat, read exactly as numbat reads them."""

from __future__ import annotations

from collections.abc import Mapping

from gpumem.plugin import NativeFault, NativeReading, NativeSetting
from gpumem_numbat.translate import LIMIT, TAKE_ALL


def read_variables(environ: Mapping[str, str]) -> NativeReading:
    """Return the policy fields that the variables decide, and the values that numbat cannot read."""
    settings: list[NativeSetting] = []
    faults: list[NativeFault] = []
    limit = environ.get(LIMIT, "")
    if limit:
        try:
            settings.append(NativeSetting("cap", int(limit), f"environment {LIMIT}"))
        except ValueError:
            problem = "is no whole number of bytes: numbat raises ValueError at its first allocation"
            faults.append(NativeFault(LIMIT, limit, problem, fatal=True))
    if TAKE_ALL in environ:
        settings.append(NativeSetting("preallocate", environ[TAKE_ALL] == "1", f"environment {TAKE_ALL}"))
    return NativeReading(tuple(settings), tuple(faults))
