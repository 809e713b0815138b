"""Reading limits back where PyTorch has no call for it (before 2.6): the last fraction that anybody set.

`torch.cuda.set_per_process_memory_fraction` ends in `torch._C._cuda_setMemoryFraction`, which nobody else calls. It is
wrapped while gpumem holds a limit, so that a later call of the user is seen as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

SETTER: Final = "_cuda_setMemoryFraction"


class RememberingSetter:
    """Stands for `torch._C._cuda_setMemoryFraction` and remembers what it was called with.

    Args:
        original: PyTorch's own function.
    """

    def __init__(self, original: Callable[[float, int], None]) -> None:
        """Start without a call."""
        self.original = original
        self.fractions: dict[int, float] = {}

    def __call__(self, fraction: float, device: int) -> None:
        """Set the fraction; it is remembered only if PyTorch took it."""
        self.original(fraction, device)
        self.fractions[int(device)] = float(fraction)


def remember(c: Any) -> None:
    """Wrap the setter of `torch._C`; wrapped already, it stays as it is."""
    setter = getattr(c, SETTER)
    if not isinstance(setter, RememberingSetter):
        setattr(c, SETTER, RememberingSetter(setter))


def remembered(c: Any) -> Mapping[int, float]:
    """Return the last fraction by device; empty where nothing was wrapped."""
    setter = getattr(c, SETTER)
    return dict(setter.fractions) if isinstance(setter, RememberingSetter) else {}


def forget(c: Any) -> None:
    """Put PyTorch's own setter back."""
    setter = getattr(c, SETTER)
    if isinstance(setter, RememberingSetter):
        setattr(c, SETTER, setter.original)
