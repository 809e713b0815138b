"""Which function carries out which call of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Final, cast

from gpumem.plugin import Progress, RuntimeCall, Undo
from gpumem_torch import configure_allocator, limit_memory, take_ahead
from gpumem_torch.call_record import RECORD
from gpumem_torch.imported import Torch, UnreadableError

LEAVE_AS_IS: Final = "leave_as_is"
"""The call for what PyTorch does by itself. ``in_shares`` lists budgets to read back as fractions."""


def carry_out(call: RuntimeCall, module: ModuleType, progress: Progress) -> Undo:
    """Carry out a call; return how to take it back.

    Raises:
        UnreadableError: when the module is not PyTorch, or the call is none of this plugin's.
    """
    torch = Torch(module)
    if not torch.genuine:
        raise UnreadableError("the module named torch is not PyTorch")
    if call.name == limit_memory.NAME:
        return limit_memory.limit_memory(torch, call, progress)
    if call.name == take_ahead.NAME:
        return take_ahead.take_ahead(torch, call, progress)
    if call.name == configure_allocator.NAME:
        return configure_allocator.configure_allocator(torch, call, progress)
    if call.name == LEAVE_AS_IS:
        shares = cast("Sequence[int | None]", call.arguments.get("in_shares", ()))
        RECORD.in_shares.update(shares)
        RECORD.alone.update(device for device in shares if device is not None)
        progress.done()
        return lambda: RECORD.in_shares.difference_update(shares)
    message = f"gpumem-torch knows no call {call.name!r}"
    raise UnreadableError(message)
