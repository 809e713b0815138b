"""An invented framework. ``WALLABY_MODE`` says how it behaves once it is used."""

import os
import signal

MODE = os.environ.get("WALLABY_MODE", "honest")
AHEAD = 256 << 20
held = 0


class PouchFullError(RuntimeError):
    """There is no room."""


def limit():
    """Return the bytes that may be held, as the variable says."""
    text = os.environ.get("WALLABY_LIMIT", "")
    return int(text) if text else None


def allocate(size):
    """Hold so many bytes more."""
    global held
    if MODE == "dies":
        os.kill(os.getpid(), signal.SIGSEGV)
    if MODE == "breaks":
        raise ValueError("the shape does not fit")
    if MODE == "greedy" and held == 0:
        held = AHEAD
    most = limit()
    if MODE != "deaf" and most is not None and held + size > most:
        raise PouchFullError(f"no room for {size} bytes beside {held}")
    held += size
    return size
