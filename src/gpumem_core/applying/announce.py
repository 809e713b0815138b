"""Warnings, each once, at the user's own line."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

from gpumem_core import state
from gpumem_core.warnings import GpumemWarning

_log = logging.getLogger("gpumem")
_OWN_FOLDER = str(Path(__file__).parent.parent)
_OWN_PACKAGES = ("gpumem", "importlib")


def users_frame(skip: Iterable[str] = ()) -> FrameType | None:
    """Return the innermost frame that is not gpumem's, a plugin's, the import system's or of a package in `skip`."""
    packages = {*_OWN_PACKAGES, *skip}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        top = name.partition(".")[0]
        frozen = frame.f_code.co_filename.startswith("<frozen importlib")
        if not (top in packages or top.startswith("gpumem_") or frozen):
            return frame
        frame = frame.f_back
    return None


def users_place() -> str:
    """Return the user's line as ``file:line``."""
    frame = users_frame()
    if frame is None:
        return "an unknown place"
    name = frame.f_code.co_filename
    return f"{Path(name).name if Path(name).is_absolute() else name}:{frame.f_lineno}"


def announce(
    code: str, message: str, ignored: Iterable[str] = (), *, deferred: bool = False, skip: Iterable[str] = ()
) -> None:
    """Give a warning once per process, unless its code is ignored.

    Args:
        code: the stable code.
        message: the text.
        ignored: codes that the policy ignores.
        deferred: True inside of a framework's own call, where even a warning turned into an error must not raise.
        skip: packages whose frames are not the user's, such as the framework's.
    """
    given = state.current().warned
    if code in ignored or (code, message) in given:
        return
    given.add((code, message))
    frame = users_frame(skip)
    warning = GpumemWarning(code, message)
    try:
        if frame is None:
            warnings.warn(warning, stacklevel=2)
        else:
            registry = frame.f_globals.setdefault("__warningregistry__", {})
            module = frame.f_globals.get("__name__")
            warnings.warn_explicit(
                warning, GpumemWarning, frame.f_code.co_filename, frame.f_lineno, module=module, registry=registry
            )
    except GpumemWarning as raised:
        if not deferred:
            raise
        _log.error("%s", raised)
