"""From the policy's allocator word to keys of the configuration string and to the switch of the cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpumem.plugin import (
    Budgets,
    Deadline,
    Expectation,
    FrameworkSettings,
    Moment,
    NotExpressed,
    Origin,
    PlanPart,
    Rank,
    RemoveVariable,
    RuntimeCall,
    Scope,
    SetVariable,
    Step,
    Strength,
)
from gpumem_torch.runtime import LEAVE_AS_IS
from gpumem_torch.situation import Situation
from gpumem_torch.variables import NO_CACHING

NATIVE_NAMES = {
    "pool": "backend:native",
    "async": "backend:cudaMallocAsync",
    "direct": f"{NO_CACHING}=1",
    "vmm": "expandable_segments:True",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Which allocator there will be.

    Attributes:
        word: the word of the allocator that will be in force, ``foreign`` for one that is not PyTorch's.
        keys: the keys of the configuration string to change for it; None removes one.
        origin: who asked for it, None where nobody did.
        parts: steps that are not part of the string, refusals, expectations.
    """

    word: str
    keys: Mapping[str, str | None] = field(default_factory=dict)
    origin: Origin | None = None
    parts: PlanPart = field(default_factory=PlanPart)


def choose_allocator(settings: FrameworkSettings, budgets: Budgets, situation: Situation) -> Choice:
    """Choose the allocator: the asked one, unless PyTorch has none such or it could not hold the limit."""
    asked = settings.allocator if settings.allocator and settings.allocator.value != "default" else None
    limit_origin = next((b.limit.origin for b in budgets.every() if b.limit), None)
    if asked is None:
        return Choice(_as_things_stand(situation, limit_origin), parts=_cache_for_limit(situation, limit_origin))
    reason = _why_not(asked.value, limit_origin is not None, situation)
    if reason:
        refusal = NotExpressed(settings.framework, "allocator", reason, asked.origin, asked=f"allocator={asked.value}")
        parts = PlanPart(not_expressed=(refusal,)) + _cache_for_limit(situation, limit_origin)
        return Choice(_as_things_stand(situation, limit_origin), parts=parts)
    expected = PlanPart(expectations=(Expectation("allocator", None, asked.value),))
    if asked.origin.rank is Rank.NATIVE:  # the user's own variable says so: it stays as it is
        return Choice(asked.value, parts=expected)
    keys = _keys(asked.value, situation)
    steps = _cache_steps(asked.value, asked.origin, situation)
    if not keys and not steps:
        steps = (_by_itself("allocator", asked.origin, NATIVE_NAMES[asked.value]),)
    return Choice(asked.value, keys, asked.origin, expected + PlanPart(steps))


def _as_things_stand(situation: Situation, limit: Origin | None) -> str:
    if situation.foreign:
        return "foreign"
    if situation.caching_off and not limit:
        return "direct"
    if situation.asynchronous:
        return "async"
    return "vmm" if situation.expandable else "pool"


def _why_not(word: str, limited: bool, situation: Situation) -> str:
    """Return why a word cannot be expressed, empty where it can."""
    if situation.foreign:
        return (
            f"PyTorch allocates through another allocator ({situation.backend}), set with "
            "torch.cuda.memory.change_current_allocator; the choice is that allocator's"
        )
    if word == "managed":
        return "PyTorch has no allocator for managed memory; vmm lets segments grow, but not beyond the device"
    if word == "vmm" and situation.windows:
        return "PyTorch ignores expandable_segments on Windows"
    if word == "direct" and limited:
        return (
            "without its cache PyTorch holds no limit; the limit was kept and the cache stays on. "
            'Set cap and fraction to "none" for PyTorch to have the cache off'
        )
    return ""


def _keys(word: str, situation: Situation) -> dict[str, str | None]:
    """Return the keys that must change for a word; none where it is so already."""
    keys: dict[str, str | None] = {}
    if word == "async" and not (situation.imported and situation.asynchronous):
        keys["backend"] = "cudaMallocAsync"
    if word in {"pool", "vmm"} and situation.asynchronous:
        keys["backend"] = "native"
    if word == "vmm" and not (situation.expandable and situation.imported):
        keys["expandable_segments"] = "True"
    if word == "pool" and situation.expandable:
        keys["expandable_segments"] = "False"
    return keys


def _cache_steps(word: str, origin: Origin, situation: Situation) -> tuple[Step, ...]:
    if word == "direct":
        return (_cache_step(SetVariable(NO_CACHING, "1"), "allocator", origin),)
    if situation.caching_off:
        return (_cache_step(RemoveVariable(NO_CACHING), "allocator", origin),)
    return ()


def _cache_for_limit(situation: Situation, limit: Origin | None) -> PlanPart:
    """Return the step that switches the cache on again where a limit needs it; a limit beats a comfort."""
    if limit is None or limit.rank is Rank.NATIVE or not situation.caching_off:
        return PlanPart()
    return PlanPart((_cache_step(RemoveVariable(NO_CACHING), "limit", limit),))


def _cache_step(action: SetVariable | RemoveVariable, of: str, origin: Origin) -> Step:
    return Step(
        action=action,
        fields=(of,),
        because=origin,
        moment=Moment.NOW,
        # Read once, at the first allocation (CUDACachingAllocator.cpp `forceUncachedAllocator`; pytorch#92074).
        deadline=Deadline.START,
        scope=Scope.PROCESS,
        strength=Strength.HARD,
        note="" if isinstance(action, SetVariable) else "no limit holds in PyTorch without its cache",
    )


def _by_itself(of: str, origin: Origin, what: str) -> Step:
    return Step(
        action=RuntimeCall(LEAVE_AS_IS, {}, f"{what} (as it is)"),
        fields=(of,),
        because=origin,
        moment=Moment.ON_IMPORT,
        deadline=Deadline.NEVER,
        scope=Scope.PROCESS,
        strength=Strength.HARD,
    )
