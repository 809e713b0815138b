"""Decisions to budgets: how much a framework may hold on each device, in bytes, as a share, or both."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Final

from gpumem_core.model.budget import Bound, Budget, Budgets, Limit, Preallocation
from gpumem_core.model.declaration import UNLIMITED, Declaration
from gpumem_core.model.device import Device, Devices
from gpumem_core.model.fault import Fault
from gpumem_core.model.origin import DEFAULT_ORIGIN, Origin
from gpumem_core.model.plan import NotExpressed
from gpumem_core.model.settings import FrameworkSettings
from gpumem_core.resolve_policy import LIMIT, decide, matches
from gpumem_core.sizes import MIB, Size, exact, human

DEFAULT_HEADROOM: Final = 512 * MIB
"""For one process that shares a card: contexts of 256 to 616 MiB were published, see docs/explanation/headroom.md."""


class BudgetDivider:
    """Divides the memory of the devices for one framework after the other.

    Args:
        declarations: everything declared, with canonical names.
        devices: the devices as known.
        free_memory: free bytes per ordinal as first seen in this process; filled here, because ``"80% free"`` is
            resolved once per process.
    """

    def __init__(
        self, declarations: Sequence[Declaration], devices: Devices, free_memory: MutableMapping[int, int]
    ) -> None:
        """Keep what the division is made from."""
        self.declarations = declarations
        self.devices = devices
        self.free_memory = free_memory

    def divide(self, framework: str) -> tuple[Budgets, tuple[NotExpressed, ...]]:
        """Return the budgets of a framework, and what could not be calculated."""
        missing: list[NotExpressed] = []
        known = {device.ordinal: device for device in self.devices.found}
        for item in self.declarations:
            ordinal = int(item.device) if item.device and item.device.isdigit() else None
            if ordinal is not None and ordinal not in known and not self.devices.complete:
                known[ordinal] = Device(ordinal)
        budgets = tuple(self._budget(framework, known[ordinal], missing) for ordinal in sorted(known))
        others = self._budget(framework, None, [] if self.devices.complete and budgets else missing)
        unknown = "" if self.devices.smallest_total is not None else (self.devices.why or "no total is known")
        complete = self.devices.complete
        return Budgets(budgets, others, complete, self.devices.ambiguous, unknown), tuple(dict.fromkeys(missing))

    def _budget(self, framework: str, device: Device | None, missing: list[NotExpressed]) -> Budget:
        total = self.devices.total(device.ordinal) if device else None
        deciding = decide(self.declarations, LIMIT, framework, device)
        bounds = [bound for item in deciding if (bound := self._bound(framework, item, device, missing))]
        headroom = self._headroom(framework, device, missing)
        if headroom and not (deciding and all(item.value is UNLIMITED for item in deciding)):
            bounds.append(headroom)
        named = device is not None and any(
            item.device is not None and item.framework in (None, framework) and matches(item.device, device)
            for item in self.declarations
        )
        unlimited = bool(deciding) and all(item.value is UNLIMITED for item in deciding)
        limit = Limit(tuple(bounds)) if bounds else None
        return Budget(
            ordinal=device.ordinal if device else None,
            total=total,
            limit=limit,
            preallocate=_within(self._preallocation(framework, device, total, missing), limit, total),
            named=named,
            largest_total=self.devices.largest_card if device else None,
            unlimited_because=deciding[0].origin if unlimited else None,
        )

    def _bound(
        self, framework: str, item: Declaration, device: Device | None, missing: list[NotExpressed]
    ) -> Bound | None:
        if item.value is UNLIMITED:
            return None
        if item.field == "fraction" and isinstance(item.value, float):
            return Bound("fraction", item.value / self._processes()[0], 0, f"{item.value:g}", item.origin)
        assert isinstance(item.value, Size)
        if item.value.bytes is not None:
            return Bound("cap", 0.0, item.value.bytes, str(item.value), item.origin)
        share = (item.value.percent or 0.0) / 100
        if item.value.of == "total":
            return Bound("cap", share, 0, str(item.value), item.origin)
        free = self._free(device)
        if free is None:
            missing.append(self._free_unknown(framework, item, device))
            return None
        return Bound("cap", 0.0, int(share * free), f"{item.value} ({int(share * free)} bytes)", item.origin)

    def _free_unknown(self, framework: str, item: Declaration, device: Device | None) -> NotExpressed:
        why = self.devices.why or "NVML does not tell it"
        reason = f"how much is free is unknown ({why}); write an amount instead"
        ordinal = device.ordinal if device else None
        return NotExpressed(framework, "limit", reason, item.origin, ordinal, f"{item.field}={item.value}")

    def _free(self, device: Device | None) -> int | None:
        if device is None:
            return None
        if device.ordinal not in self.free_memory and device.free is not None:
            self.free_memory[device.ordinal] = device.free
        return self.free_memory.get(device.ordinal)

    def _processes(self) -> tuple[int, Origin]:
        decided = [item for item in self.declarations if item.field == "processes_per_device"]
        if not decided:
            return 1, DEFAULT_ORIGIN
        strongest = min(decided, key=lambda item: item.origin.rank)
        return (strongest.value, strongest.origin) if isinstance(strongest.value, int) else (1, DEFAULT_ORIGIN)

    def _headroom(self, framework: str, device: Device | None, missing: list[NotExpressed]) -> Bound | None:
        """Return total / n - headroom where a card is shared or a headroom is set."""
        processes, origin = self._processes()
        decided = decide(self.declarations, ("headroom",), framework, device)
        if not decided and processes == 1:
            return None
        size = decided[0].value if decided else Size(bytes=DEFAULT_HEADROOM)
        assert isinstance(size, Size)
        left_free = (size.percent or 0.0) / 100
        amount = size.bytes or 0
        if size.of == "free":
            free = self._free(device)
            if free is None:
                missing.append(self._free_unknown(framework, decided[0], device))
                return None
            left_free, amount = 0.0, int(left_free * free)
        return Bound(
            "headroom",
            1 / processes - left_free,
            -amount,
            f"{size}" + (f" with {processes} processes" if processes > 1 else ""),
            decided[0].origin if decided else origin,
        )

    def _preallocation(
        self, framework: str, device: Device | None, total: int | None, missing: list[NotExpressed]
    ) -> Preallocation | None:
        decided = decide(self.declarations, ("preallocate",), framework, device)
        if not decided:
            return None
        value = decided[0].value
        if isinstance(value, bool):
            return Preallocation(value, decided[0].origin)
        assert isinstance(value, Size)
        amount = value.bytes
        if amount is None:
            base = total if value.of == "total" else self._free(device)
            if base is None:
                reason = "the percentage needs the device's memory, which is unknown; write an amount instead"
                ordinal = device.ordinal if device else None
                asked = f"preallocate={value}"
                missing.append(NotExpressed(framework, "preallocate", reason, decided[0].origin, ordinal, asked))
                return None
            amount = int((value.percent or 0.0) / 100 * base)
        return Preallocation(amount, decided[0].origin, "" if value.bytes else str(value))


def _within(preallocation: Preallocation | None, limit: Limit | None, total: int | None) -> Preallocation | None:
    """Return what is taken ahead: a size that reaches a limit from another source is the whole limit."""
    if preallocation is None or limit is None or isinstance(preallocation.amount, bool):
        return preallocation
    most = limit.in_bytes(total)
    if not most or preallocation.amount < most:
        return preallocation
    return replace(preallocation, amount=True, asked=preallocation.asked or exact(preallocation.amount))


def impossible_bounds(framework: str, budgets: Budgets) -> tuple[Fault, ...]:
    """Return a fault for each device on which nothing is left for a framework."""
    faults = []
    for budget in budgets.every():
        limit = budget.limit_bytes
        if limit is not None and limit < MIB:
            assert budget.limit is not None
            device = "" if budget.ordinal is None else f" on device {budget.ordinal}"
            bound = budget.limit.decisive(budget.total)
            problem = f"{framework}{device}: {bound.field}={bound.asked} leaves {max(limit, 0)} bytes, less than 1 MiB"
            if bound.field == "headroom" and bound.share < 1 and budget.total is not None:
                problem += f"; at most {largest_share(budget.total, -bound.amount)} processes fit with this headroom"
            faults.append(Fault(bound.field, bound.origin, problem))
    return tuple(faults)


def beyond_devices(settings: FrameworkSettings, budgets: Budgets, devices: Devices) -> tuple[str, ...]:
    """Return a sentence for each cap that is larger than its device, and for visible ordinals that are not there."""
    sentences = []
    for budget in budgets.devices:
        for bound in budget.limit.bounds if budget.limit else ():
            if budget.total is not None and bound.share == 0 and bound.amount > budget.total:
                where = f"the {human(budget.total)} of device {budget.ordinal}"
                sentences.append(f"{bound.field}={bound.asked} ({bound.origin}) is more than {where}")
    visible = settings.visible
    if visible is not None and isinstance(visible.value, tuple) and devices.complete and devices.driver is not False:
        absent = sorted(set(visible.value) - {device.ordinal for device in devices.found})
        if absent:
            listed = ", ".join(map(str, absent))
            sentences.append(f"visible={list(visible.value)} ({visible.origin}) lists what is not there: {listed}")
    return tuple(sentences)


def largest_share(total: int, headroom: int) -> int:
    """Return how many processes fit on a device when each needs `headroom` bytes and 1 MiB for its limit."""
    return total // (headroom + MIB)


def taken_ahead(budgets: Mapping[str, Budgets]) -> tuple[str, ...]:
    """Return a sentence for each device on which the frameworks together take more ahead than it has."""
    sentences = []
    totals = {budget.ordinal: budget.total for each in budgets.values() for budget in each.devices}
    for ordinal, total in totals.items():
        if ordinal is None or total is None:
            continue
        amounts = {name: each.of(ordinal).preallocate_bytes or 0 for name, each in budgets.items()}
        if sum(amounts.values()) > total:
            parts = ", ".join(f"{name} {human(amount)}" for name, amount in amounts.items() if amount)
            sentences.append(f"on device {ordinal} the frameworks take ahead {parts}, but it has {human(total)}")
    return tuple(sentences)
