"""A folder of built things, for this user alone, each under a hash of what it is made from."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from gpumem_simgpu.errors import SimulationError


def digest(parts: Iterable[str | bytes]) -> str:
    """Return a short hash of these parts; where one ends and the next begins counts."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(f"{len(data)}:".encode())
        total.update(data)
    return total.hexdigest()[:16]


def cache_folder() -> Path:
    """Return the cache folder, made with mode 0700, and refuse one that others could have prepared.

    Programs load code from it, so a folder of somebody else would run his code.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG rules say that a relative path is to be ignored.
    parent = Path(base) if base.startswith("/") else Path.home() / ".cache"
    folder = parent / "gpumem-simgpu"
    if any(character.isspace() or character in ":;" for character in str(folder)):
        message = (
            f"The cache folder {folder} cannot be used: LD_PRELOAD splits names at spaces, colons and "
            "semicolons. Point XDG_CACHE_HOME at a folder without them."
        )
        raise SimulationError(message)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        message = (
            f"The cache folder {folder} is a link or belongs to another user, so nothing is loaded from it. "
            "Remove it, or point XDG_CACHE_HOME at a folder of your own."
        )
        raise SimulationError(message)
    if stat.S_IMODE(found.st_mode) != 0o700:
        folder.chmod(0o700)
    return folder


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder ``name`` of the cache; where it is missing, let ``make`` fill it first.

    The folder is filled under another name and renamed when complete, so nobody sees half of it. A lock keeps
    a second builder waiting instead of doing the same work beside the first.
    """
    root = cache_folder()
    final = root / name
    if final.is_dir():
        return final
    with (root / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if final.is_dir():
            return final
        unfinished = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=root))
        try:
            make(unfinished)
            unfinished.rename(final)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return final
