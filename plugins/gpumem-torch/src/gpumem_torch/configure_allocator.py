"""The call that changes the allocator's configuration of an imported PyTorch, through its own setter."""

from __future__ import annotations

import os

from gpumem.plugin import Progress, RuntimeCall, Undo
from gpumem_torch.imported import Torch, UnreadableError
from gpumem_torch.keys import known
from gpumem_torch.parse import merge, read
from gpumem_torch.variables import text_in_force

NAME = "configure_allocator"


def set_text(torch: Torch, text: str) -> None:
    """Hand a configuration string to PyTorch. Initialises nothing.

    `torch.cuda.memory._set_allocator_settings` does the same but warns from 2.10 on.
    """
    if torch.has("_accelerator_setAllocatorSettings"):
        torch.c._accelerator_setAllocatorSettings(text)
    else:
        torch.c._cuda_cudaCachingAllocator_set_allocator_settings(text)


def text_before(torch: Torch) -> str:
    """Return the string in force. The setter fixes the configuration anyway, so reading it costs nothing more."""
    try:
        return torch.configuration_text()
    except UnreadableError:
        return text_in_force(os.environ, torch.release)


def configure_allocator(torch: Torch, call: RuntimeCall, progress: Progress) -> Undo:
    """Set the whole string: each call of the setter puts the keys it does not name back to their defaults, or not.

    Raises:
        Exception: what PyTorch says about the string; the one before is set again, for the setter applies what
            stands before a bad key.
    """
    text = str(call.arguments["text"])
    before = text_before(torch)
    try:
        set_text(torch, text)
    except Exception:
        set_text(torch, before)
        raise
    progress.done("PyTorch's configuration was set anew; segments it holds already stay as they are")

    def undo() -> None:
        entries = read(before, torch.release).entries
        named = {entry.key for entry in entries}
        kept = (entry.key for entry in read(text, torch.release).entries if entry.key not in named)
        keys = [key for name in kept if (key := known(name, torch.release)) is not None]
        set_text(torch, merge(entries, {key.name: key.default for key in keys if key.default}))

    return undo
