"""How much memory a framework may hold on each device."""

from __future__ import annotations

from dataclasses import dataclass

from gpumem_core.model.origin import Origin


@dataclass(frozen=True, slots=True)
class Bound:
    """One upper bound on memory: ``share * total + amount`` bytes.

    A cap of 8 GiB is ``share=0, amount=8 * 2**30``; a fraction of 0.5 is ``share=0.5, amount=0``; a
    headroom of 512 MiB for two processes is ``share=0.5, amount=-512 * 2**20``.

    Attributes:
        field: the policy field that asks for it: ``cap``, ``fraction`` or ``headroom``.
        share: the part of the device's total; above 1 only with managed memory.
        amount: bytes, negative where something is left free.
        asked: the value as declared, for people.
        origin: where it was declared.
    """

    field: str
    share: float
    amount: int
    asked: str
    origin: Origin

    def in_bytes(self, total: int | None) -> int | None:
        """Return the bound in bytes on a device with `total` bytes, None where the total is needed and unknown."""
        if self.share == 0:
            return self.amount
        if total is None:
            return None
        return int(self.share * total) + self.amount


@dataclass(frozen=True, slots=True)
class Limit:
    """The most memory an allocator may hold on a device: the smallest of one or more bounds."""

    bounds: tuple[Bound, ...]

    def in_bytes(self, total: int | None) -> int | None:
        """Return the limit in bytes, never rounded up; None where a bound needs the total and it is unknown."""
        amounts = [bound.in_bytes(total) for bound in self.bounds]
        if any(amount is None for amount in amounts):
            return None
        return min(amount for amount in amounts if amount is not None)

    @property
    def pure_share(self) -> float | None:
        """The limit as a share of the total where it is nothing else (no total is needed), else None."""
        if all(bound.amount == 0 and bound.share for bound in self.bounds):
            return min(bound.share for bound in self.bounds)
        return None

    @property
    def pure_bytes(self) -> int | None:
        """The limit in bytes where no bound depends on the total, else None."""
        return self.in_bytes(None)

    def decisive(self, total: int | None) -> Bound:
        """Return the bound that decides on a device with `total` bytes (the first one where that is unknown)."""
        if total is None:
            return self.bounds[0]
        return min(self.bounds, key=lambda bound: bound.in_bytes(total) or 0)

    @property
    def origin(self) -> Origin:
        """The strongest origin among the bounds."""
        return min((bound.origin for bound in self.bounds), key=lambda origin: origin.rank)

    @property
    def asked(self) -> str:
        """The limit as declared, such as ``cap=8GiB`` or ``fraction=0.5``."""
        return ", ".join(f"{bound.field}={bound.asked}" for bound in self.bounds)

    @property
    def field(self) -> str:
        """The policy field that stands for the limit in a report."""
        return self.bounds[0].field


@dataclass(frozen=True, slots=True)
class Preallocation:
    """What is taken at first touch.

    Attributes:
        amount: False for nothing ahead, True for the whole limit, or bytes.
        origin: where it was declared.
        asked: the value as declared where it differs from `amount` (a percentage, a size beyond the limit).
    """

    amount: bool | int
    origin: Origin
    asked: str = ""

    @property
    def grows(self) -> bool:
        """Whether memory is taken as needed, ahead of nothing or of a size."""
        return self.amount is not True


@dataclass(frozen=True, slots=True)
class Budget:
    """What one framework may hold and takes ahead on one device.

    Attributes:
        ordinal: the device as the program sees it; None in `Budgets.others`.
        total: the device's memory in bytes, None where unknown.
        limit: the most its allocator may hold, None for no limit of ours.
        unlimited_because: where ``"none"`` was declared, an explicit wish for no limit; None where it was not.
        preallocate: what is taken at first touch, None for the framework's own way.
        named: whether the policy has an override for this very device.
        largest_total: where it is uncertain which card the ordinal means, the total of the largest one it may be;
            `total` is the smallest one then. Else None.
    """

    ordinal: int | None
    total: int | None = None
    limit: Limit | None = None
    preallocate: Preallocation | None = None
    named: bool = False
    largest_total: int | None = None
    unlimited_because: Origin | None = None

    @property
    def unlimited(self) -> bool:
        """Whether there is an explicit wish for no limit."""
        return self.unlimited_because is not None

    @property
    def limit_bytes(self) -> int | None:
        """The limit in bytes, None without a limit or where the total is needed and unknown."""
        return self.limit.in_bytes(self.total) if self.limit else None

    @property
    def limit_share(self) -> float | None:
        """The limit as a share of the total that holds whichever card the ordinal means.

        None without a limit, or where a total is needed and unknown. A pure fraction is returned unconverted.
        """
        if self.limit is None:
            return None
        if self.limit.pure_share is not None:
            return self.limit.pure_share
        shares = []
        for total in {self.total, self.largest_total or self.total}:
            amount = self.limit.in_bytes(total)
            if total is None or amount is None:
                return None
            shares.append(amount / total)
        return min(shares)

    @property
    def preallocate_bytes(self) -> int | None:
        """The bytes taken at first touch: 0, a size up to the limit, or the limit; None where unsaid or unknown."""
        if self.preallocate is None:
            return None
        amount = self.preallocate.amount
        if amount is False:
            return 0
        limit = self.limit_bytes
        if amount is True:
            return limit
        return int(amount) if limit is None else min(int(amount), limit)


@dataclass(frozen=True, slots=True)
class Budgets:
    """The budgets of one framework.

    Attributes:
        devices: one per device that is known or named in the policy, in the order of the ordinals.
        others: what holds for every device that is not in `devices`.
        complete: whether `devices` are all that the program sees.
        ambiguous: a sentence where it is uncertain which card an ordinal means, else empty.
        unknown: a sentence on why totals are unknown, else empty.
    """

    devices: tuple[Budget, ...]
    others: Budget
    complete: bool
    ambiguous: str = ""
    unknown: str = ""

    def every(self) -> tuple[Budget, ...]:
        """Return all budgets that may apply: those of `devices`, and `others` where the list is not complete."""
        return self.devices if self.complete and self.devices else (*self.devices, self.others)

    def of(self, ordinal: int) -> Budget:
        """Return the budget for a device."""
        for budget in self.devices:
            if budget.ordinal == ordinal:
                return budget
        return self.others

    @property
    def any_limit(self) -> bool:
        """Whether any device has a limit."""
        return any(budget.limit for budget in self.every())
