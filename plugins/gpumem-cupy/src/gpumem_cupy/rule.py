"""What is to hold on a device: a limit and what is taken ahead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpumem.plugin import Budget

BLOCK = 512
"""CuPy rounds every allocation up to 512 bytes (cupy/cuda/memory.pyx, `_allocation_unit_size`)."""
DRIVER_BLOCK = 32 << 20
"""The driver's pool grows in steps of 32 MiB (comment in cupy/cuda/memory.pyx 14.2.0, class MemoryAsyncPool)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is to hold on one device, or on every device without a rule of its own.

    Attributes:
        bounds: pairs of a share of the device's total and bytes; the smallest sum is the limit. Empty: the limit
            that the pool has already stays.
        at_most: the limit in bytes as far as it was known when the plan was made, which is never exceeded whatever
            the driver says of the total; None where it was not known, or only for the smallest card of several.
        unlimited: True to take every limit away.
        preallocate: what is taken at the first touch: False or None for nothing, True for the whole limit, or bytes.
        kept_share: the user's own limit as a share, which stays and is only read back; None without one, or where
            its bytes were known when the plan was made.
    """

    bounds: tuple[tuple[float, int], ...] = ()
    at_most: int | None = None
    unlimited: bool = False
    preallocate: bool | int | None = None
    kept_share: float | None = None

    @property
    def needs_total(self) -> bool:
        """Whether the limit depends on the device's total."""
        return any(share for share, _ in self.bounds)

    @property
    def share(self) -> float | None:
        """The limit as a share of the total where no bytes of it were known when the plan was made, else None."""
        if self.at_most is None and self.bounds and all(share and not amount for share, amount in self.bounds):
            return min(share for share, _ in self.bounds)
        return self.kept_share

    @property
    def sets_limit(self) -> bool:
        """Whether the rule sets or takes away a limit."""
        return self.unlimited or bool(self.bounds)

    @property
    def takes_ahead(self) -> bool:
        """Whether memory is taken at the first touch."""
        return self.preallocate is True or (self.preallocate is not None and self.preallocate > 0)

    def limit(self, total: int | None) -> int:
        """Return the bytes for ``set_limit(size=...)`` on a device with `total` bytes; 0 is CuPy's "no limit".

        Raises:
            ValueError: where the total is needed and unknown, or nothing is left for the framework.
        """
        if self.unlimited:
            return 0
        if self.needs_total and total is None:
            message = "the device's total is unknown"
            raise ValueError(message)
        amounts = [int(share * (total or 0)) + amount for share, amount in self.bounds]
        if self.at_most is not None:
            amounts.append(self.at_most)
        smallest = min(amounts)
        if smallest <= 0:
            # To CuPy a limit of 0 is none, and a negative one raises: neither may be sent.
            message = f"the limit comes to {smallest} bytes on a device with {total} bytes"
            raise ValueError(message)
        return smallest

    def ahead(self, limit: int) -> int:
        """Return the bytes to take at the first touch, in whole blocks and never above `limit` (0 for none)."""
        if not self.takes_ahead:
            return 0
        wanted = limit if self.preallocate is True else int(self.preallocate or 0)
        if limit:
            wanted = min(wanted, limit)
        return wanted // BLOCK * BLOCK

    def to_arguments(self) -> dict[str, object]:
        """Return the rule as plain values for a `RuntimeCall`."""
        return {
            "bounds": [list(bound) for bound in self.bounds],
            "at_most": self.at_most,
            "unlimited": self.unlimited,
            "preallocate": self.preallocate,
            "kept_share": self.kept_share,
        }


def rule_of(arguments: Mapping[str, Any]) -> Rule:
    """Read a rule back from the arguments of a `RuntimeCall`."""
    return Rule(
        bounds=tuple((float(share), int(amount)) for share, amount in arguments.get("bounds", ())),
        at_most=arguments.get("at_most"),
        unlimited=bool(arguments.get("unlimited", False)),
        preallocate=arguments.get("preallocate"),
        kept_share=arguments.get("kept_share"),
    )


def rule_for(budget: Budget, *, keeps_limit: bool, takes_ahead: bool) -> Rule:
    """Make the rule for a budget.

    Args:
        budget: the budget.
        keeps_limit: whether the limit is the user's own and stays as it is.
        takes_ahead: whether the allocator can take memory ahead.
    """
    limit = None if keeps_limit else budget.limit
    # Which card it is turns out at the first touch, where the driver tells the total of that very card.
    open_until_touched = limit is not None and limit.pure_share is not None and budget.largest_total is not None
    kept = budget.limit if keeps_limit and budget.limit_bytes is None else None
    return Rule(
        bounds=tuple((bound.share, bound.amount) for bound in limit.bounds) if limit else (),
        at_most=budget.limit_bytes if limit and not open_until_touched else None,
        unlimited=budget.unlimited and not keeps_limit,
        preallocate=budget.preallocate.amount if budget.preallocate and takes_ahead else None,
        kept_share=kept.pure_share if kept else None,
    )
