"""Warnings, each once, at the user's own line."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType

from gpumem_core import state
from gpumem_core.warnings import GpumemWarning

_log = logging.getLogger("gpumem")
_STANDARD_LIBRARY = str(Path(os.__file__).parent)


def _calling_frames(skip: Iterable[str]) -> Iterator[FrameType]:
    """Yield the frames, innermost first, that are not gpumem's, a plugin's, the import system's or of `skip`."""
    packages = {"gpumem", "importlib", *skip}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        frozen = frame.f_code.co_filename.startswith("<frozen importlib")
        if not (top in packages or top.startswith("gpumem_") or frozen):
            yield frame
        frame = frame.f_back


def _is_installed(frame: FrameType) -> bool:
    """Return whether the code belongs to an installed package or the standard library, not to the user's program."""
    name = frame.f_code.co_filename
    return any(part in {"site-packages", "dist-packages"} for part in Path(name).parts) or name.startswith(
        _STANDARD_LIBRARY
    )


def users_frame(skip: Iterable[str] = ()) -> FrameType | None:
    """Return the innermost frame of the user's own program; if there is none, the innermost that is not ours."""
    frames = list(_calling_frames(skip))
    return next((frame for frame in frames if not _is_installed(frame)), frames[0] if frames else None)


def users_place() -> str:
    """Return the line that called gpumem, as ``file:line``."""
    frame = next(_calling_frames(()), None)
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
