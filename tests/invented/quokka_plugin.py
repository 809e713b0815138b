"""The plugins of quokka (a fraction, fixed at import; a variable that it shares) and of bilby (no limit)."""

from __future__ import annotations

import sys
from types import ModuleType

from numbat_plugin import variable

from gpumem.plugin import (
    Answer,
    Budgets,
    Comparison,
    Deadline,
    Expectation,
    Framework,
    FrameworkSettings,
    FrameworkState,
    NotExpressed,
    Observation,
    Plan,
    hookimpl,
)


def imported(name: str) -> Answer:
    return Answer.YES if name in sys.modules else Answer.NO


class QuokkaPlugin:
    managed = "1"

    @hookimpl
    def gpumem_framework(self) -> Framework:
        return Framework("quokka", "Quokka", variables=("QUOKKA_FRACTION", "SHARED_MANAGED"), limit_unit="fraction")

    @hookimpl
    def gpumem_state(self) -> FrameworkState:
        module = sys.modules.get("quokka")
        seen = self.gpumem_observe(module) if module else ()
        return FrameworkState(imported=imported("quokka"), evidence="sys.modules", observations=seen)

    @hookimpl
    def gpumem_plan(self, settings: FrameworkSettings, budgets: Budgets) -> Plan:
        steps, expected, missing = [], [], []
        budget = budgets.devices[0] if budgets.devices else budgets.others
        if budget.limit:
            share = budget.limit.pure_share
            if share is None and budget.total and budget.limit_bytes is not None:
                share = budget.limit_bytes / budget.total
            if share is None:
                missing.append(NotExpressed("quokka", "limit", "the total is unknown", budget.limit.origin))
            else:
                because = budget.limit.origin
                steps.append(variable("QUOKKA_FRACTION", repr(share), ("limit",), because, Deadline.IMPORT))
                expected.append(Expectation("limit", None, share, Comparison.LIMIT, "fraction"))
        if settings.allocator and settings.allocator.value == "managed":
            steps.append(variable("SHARED_MANAGED", self.managed, ("allocator",), settings.allocator.origin))
        return Plan("quokka", tuple(steps), tuple(expected), tuple(missing))

    @hookimpl
    def gpumem_observe(self, module: ModuleType) -> tuple[Observation, ...]:
        return (Observation("limit", None, module.fraction, "quokka.fraction"),)


class BilbyPlugin:
    @hookimpl
    def gpumem_framework(self) -> Framework:
        return Framework("bilby", "Bilby")

    @hookimpl
    def gpumem_state(self) -> FrameworkState:
        return FrameworkState(imported=imported("bilby"), evidence="sys.modules")

    @hookimpl
    def gpumem_plan(self, budgets: Budgets, settings: FrameworkSettings) -> Plan:
        missing = []
        if budgets.any_limit:
            limit = next(b.limit for b in budgets.every() if b.limit)
            missing.append(
                NotExpressed("bilby", "limit", "bilby has no limit of its own", limit.origin, None, limit.asked)
            )
        if settings.allocator:
            missing.append(NotExpressed("bilby", "allocator", "bilby has one allocator", settings.allocator.origin))
        return Plan("bilby", not_expressed=tuple(missing))
