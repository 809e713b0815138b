"""The plugin of the invented framework numbat: bytes, variables read at the start, one runtime call per device."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType

from gpumem.plugin import (
    Answer,
    Budgets,
    Comparison,
    Deadline,
    Expectation,
    Framework,
    FrameworkSettings,
    FrameworkState,
    Moment,
    NativeFault,
    NativeReading,
    NativeSetting,
    NotExpressed,
    Observation,
    Plan,
    Progress,
    Rank,
    RuntimeCall,
    Scope,
    SetVariable,
    Size,
    Step,
    Strength,
    Undo,
    hookimpl,
)

HOLDS_CAP = {"pool": True, "async": False, "managed": True}


def variable(name: str, value: str, fields: tuple[str, ...], because, deadline=Deadline.START, **more) -> Step:
    return Step(
        action=SetVariable(name, value),
        fields=fields,
        because=because,
        moment=Moment.NOW,
        deadline=deadline,
        scope=Scope.PROCESS,
        strength=Strength.HARD,
        **more,
    )


def limit_steps(budgets: Budgets, plan: list, expected: list, missing: list) -> None:
    others = budgets.others.limit
    amount = others.in_bytes(budgets.devices[0].total if budgets.devices else None) if others else None
    if others and others.origin.rank is not Rank.NATIVE:
        if amount is None:
            missing.append(NotExpressed("numbat", "limit", "the total is unknown", others.origin, None, others.asked))
        else:
            plan.append(variable("NUMBAT_LIMIT", str(amount), ("limit",), others.origin))
            expected.append(Expectation("limit", None, amount, Comparison.LIMIT, "bytes"))
    for budget in budgets.devices:
        if budget.named and budget.limit and budget.limit_bytes is not None and budget.limit_bytes != amount:
            call = RuntimeCall(
                "set_device_limit",
                {"device": budget.ordinal, "amount": budget.limit_bytes},
                f"numbat.set_device_limit({budget.ordinal}, {budget.limit_bytes})",
            )
            plan.append(
                Step(
                    action=call,
                    fields=("limit",),
                    because=budget.limit.origin,
                    moment=Moment.ON_IMPORT,
                    deadline=Deadline.NEVER,
                    scope=Scope.DEVICE,
                    strength=Strength.HARD,
                    device=budget.ordinal,
                )
            )
            expected.append(Expectation("limit", budget.ordinal, budget.limit_bytes, Comparison.LIMIT, "bytes"))


def allocator_steps(settings: FrameworkSettings, limited: bool, plan: list, expected: list, missing: list) -> None:
    asked = settings.allocator
    if asked is None or asked.value == "default":
        return
    if asked.value not in HOLDS_CAP:
        why = f"numbat has no {asked.value} allocator"
    elif limited and not HOLDS_CAP[asked.value]:
        why = f"the {asked.value} allocator does not hold the limit, which comes first"
    else:
        plan.append(variable("NUMBAT_ALLOCATOR", asked.value, ("allocator",), asked.origin, Deadline.IMPORT))
        expected.append(Expectation("allocator", None, asked.value))
        return
    missing.append(NotExpressed("numbat", "allocator", why, asked.origin, None, f"allocator={asked.value}"))


class NumbatPlugin:
    """A plugin as an object; tests subclass it to break one hook."""

    @hookimpl
    def gpumem_framework(self) -> Framework:
        return Framework(
            "numbat", "Numbat", ("nb",), ("no-such-distribution",), ("NUMBAT_LIMIT", "NUMBAT_GROWTH"), "bytes"
        )

    @hookimpl
    def gpumem_native(self, environ: Mapping[str, str]) -> NativeReading:
        text = environ.get("NUMBAT_LIMIT")
        if text is None:
            return NativeReading()
        if not text.isdigit():
            fault = NativeFault("NUMBAT_LIMIT", text, "is not a number: numbat loses the GPU", fatal=True)
            return NativeReading(faults=(fault,))
        return NativeReading((NativeSetting("cap", Size(bytes=int(text)), "environment NUMBAT_LIMIT"),))

    @hookimpl
    def gpumem_state(self) -> FrameworkState:
        module = sys.modules.get("numbat")
        if module is None or getattr(module.__spec__, "_initializing", False):
            return FrameworkState(evidence="numbat is not imported")
        started = getattr(module, "started", None)
        answer = {True: Answer.YES, False: Answer.NO}.get(started, Answer.UNKNOWN)
        return FrameworkState(
            imported=Answer.YES,
            started=answer,
            evidence=f"numbat.started is {started}",
            observations=self.gpumem_observe(module) if started else (),
        )

    @hookimpl
    def gpumem_plan(self, settings: FrameworkSettings, budgets: Budgets) -> Plan:
        plan, expected, missing = [], [], []
        if settings.visible is not None:
            value = "" if settings.hidden else str(settings.visible.value)
            plan.append(variable("NUMBAT_VISIBLE", value, ("visible",), settings.visible.origin))
            expected.append(Expectation("visible", None, value))
        limit_steps(budgets, plan, expected, missing)
        ahead = budgets.others.preallocate
        if ahead is not None:
            plan.append(variable("NUMBAT_GROWTH", str(int(ahead.grows)), ("preallocate",), ahead.origin))
            expected.append(Expectation("preallocate", None, str(int(ahead.grows))))
        allocator_steps(settings, budgets.any_limit, plan, expected, missing)
        for name, option in settings.options.items():
            missing.append(
                NotExpressed("numbat", f"options.{name}", "numbat has no such option", option.origin, None, name)
            )
        return Plan("numbat", tuple(plan), tuple(expected), tuple(missing))

    @hookimpl
    def gpumem_apply(self, call: RuntimeCall, module: ModuleType, progress: Progress) -> Undo | None:
        device, amount = call.arguments["device"], call.arguments["amount"]
        before = module.device_limits.get(device)
        module.set_device_limit(device, amount)
        progress.done()
        return lambda: module.device_limits.pop(device) if before is None else module.set_device_limit(device, before)

    @hookimpl
    def gpumem_observe(self, module: ModuleType) -> tuple[Observation, ...]:
        seen = [Observation("limit", d, amount, "numbat.device_limits") for d, amount in module.device_limits.items()]
        if not module.started:
            return (*seen, Observation("limit", None, None, "numbat.limit", "until numbat starts"))
        return (
            *seen,
            Observation("limit", None, module.limit, "numbat.limit"),
            Observation("preallocate", None, module.growth, "numbat.growth"),
            Observation("allocator", None, module.allocator, "numbat.allocator"),
            Observation("visible", None, module.visible, "numbat.visible"),
        )
