"""What gpumem's own calls have set in this process, to tell it from what the user's calls set.

This is the plugin's only mutable state. A forked child inherits it together with PyTorch's own state.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class CallRecord:
    """The calls that have taken effect.

    Attributes:
        allowed: by device, the bytes PyTorch allows since gpumem's call.
        alone: devices that have a limit call of their own.
        in_shares: the budgets (a device, or None for all others) whose limit is verified as a share of the total,
            because the plan did not know the total.
        taken: by device, the bytes that were taken ahead.
    """

    allowed: dict[int, int] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)
    in_shares: set[int | None] = field(default_factory=set)
    taken: dict[int, int] = field(default_factory=dict)

    def forget(self) -> None:
        """Forget everything, as after a reset."""
        self.allowed.clear()
        self.alone.clear()
        self.in_shares.clear()
        self.taken.clear()


RECORD = CallRecord()
