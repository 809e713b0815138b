"""The policy as a plan for CuPy. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from gpumem.plugin import (
    Budgets,
    Deadline,
    Expectation,
    FrameworkSettings,
    FrameworkState,
    Moment,
    NotExpressed,
    Origin,
    Plan,
    Rank,
    RuntimeCall,
    Scope,
    Step,
    Strength,
)
from gpumem_cupy.describe import NAME
from gpumem_cupy.limits import plan_limits, refuse_limits
from gpumem_cupy.runtime import OWN_WAY, USE_ALLOCATOR

_TEXTS = {
    "pool": "cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)",
    "async": "cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)",
    "managed": "cupy.cuda.set_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc)",
    "direct": "cupy.cuda.set_allocator(None)",
}
_NOTES = {
    "async": "the limit holds what CuPy asks for, not what others take from the same driver pool, in steps of 32 MiB; "
    "the pool makes a context on every visible device at the first allocation",
    "managed": "the limit counts managed memory, whether it lies on the device or on the host",
}


def own_way(fields: tuple[str, ...], because: Origin, text: str) -> Step:
    """Return the step for what CuPy does by itself."""
    return Step(
        action=RuntimeCall(OWN_WAY, text=text),
        fields=fields,
        because=because,
        moment=Moment.ON_IMPORT,
        deadline=Deadline.NEVER,
        scope=Scope.PROCESS,
        strength=Strength.HARD,
    )


def translate(settings: FrameworkSettings, budgets: Budgets, state: FrameworkState, environ: Mapping[str, str]) -> Plan:
    """Return the plan."""
    foreign = str(state.details.get("who", "")) if state.details.get("allocator") == "foreign" else ""
    allocator = _allocator(settings, budgets, state, foreign)
    visible = _visible(settings, budgets)
    if foreign:
        limits = refuse_limits(budgets, foreign)
    else:
        limits = plan_limits(budgets, state, environ, _word(settings, allocator))
    options = tuple(
        NotExpressed(
            NAME,
            f"options.{name}",
            "CuPy has no option of this name that this plugin could pass on; call CuPy's own function for it",
            option.origin,
            asked=f"options.{name}={option.value}",
        )
        for name, option in settings.options.items()
    )
    parts = (allocator, visible, limits)
    return Plan(
        NAME,
        steps=tuple(step for part in parts for step in part.steps),
        expectations=tuple(item for part in parts for item in part.expectations),
        not_expressed=(*(item for part in parts for item in part.not_expressed), *options),
        notes=tuple(note for part in parts for note in part.notes),
    )


def _word(settings: FrameworkSettings, allocator: Plan) -> str:
    """Return the word of the allocator that will be in force."""
    if allocator.not_expressed or settings.allocator is None or settings.allocator.value == "default":
        return "pool"
    return settings.allocator.value


def _allocator(settings: FrameworkSettings, budgets: Budgets, state: FrameworkState, foreign: str) -> Plan:
    asked = settings.allocator
    if asked is None or asked.value == "default":
        return Plan(NAME)
    origin, word = asked.origin, str(asked.value)
    reason = ""
    if foreign:
        reason = f"CuPy allocates through {foreign}, which was set before and is kept"
    elif word == "vmm":
        reason = 'CuPy has no allocator of this kind; "pool" and "async" grow as well'
    elif word == "direct" and (budgets.any_limit or _takes_ahead(budgets)):
        reason = "without a pool CuPy has no limit and keeps nothing ahead, and a limit beats an allocator"
    if reason:
        refused = NotExpressed(NAME, "allocator", reason, origin, asked=f"allocator={word}")
        # Where the user has switched the pool off himself, the limit needs it back.
        back = word == "direct" and state.details.get("allocator") == "direct"
        fields = ("limit",) if budgets.any_limit else ("preallocate",)
        steps = (_use("pool", origin, fields),) if back else ()
        return Plan(NAME, steps=steps, not_expressed=(refused,))
    expectation = Expectation("allocator", None, word)
    if origin.rank is Rank.NATIVE:
        return Plan(NAME, (own_way(("allocator",), origin, "the allocator that is set already"),), (expectation,))
    return Plan(NAME, (_use(word, origin, ("allocator",), _NOTES.get(word, "")),), (expectation,))


def _use(word: str, origin: Origin, fields: tuple[str, ...], note: str = "") -> Step:
    return Step(
        action=RuntimeCall(USE_ALLOCATOR, {"word": word}, _TEXTS[word]),
        fields=fields,
        because=origin,
        moment=Moment.ON_START if word == "async" else Moment.ON_IMPORT,
        deadline=Deadline.NEVER,
        scope=Scope.PROCESS,
        strength=Strength.HARD,
        note=note,
    )


def _takes_ahead(budgets: Budgets) -> bool:
    return any(budget.preallocate is not None and budget.preallocate.amount is not False for budget in budgets.every())


def _visible(settings: FrameworkSettings, budgets: Budgets) -> Plan:
    asked = settings.visible
    if asked is None:
        return Plan(NAME)
    everything = {budget.ordinal for budget in budgets.devices} if budgets.complete else None
    if asked.value == "all" or (everything is not None and set(asked.value) == everything):
        text = "CuPy sees every device that CUDA_VISIBLE_DEVICES leaves"
        return Plan(NAME, (own_way(("visible",), asked.origin, text),))
    advice = "-1" if settings.hidden else ",".join(str(ordinal) for ordinal in asked.value)
    reason = (
        "CuPy has no setting of its own for this: it sees every device of the process; start the program with "
        f"CUDA_VISIBLE_DEVICES={advice}, which holds for every framework in it"
    )
    notes = ("the limits still hold, because CuPy cannot be kept from the devices",) if budgets.any_limit else ()
    refused = NotExpressed(NAME, "visible", reason, asked.origin, asked=f"visible={asked.value}")
    return Plan(NAME, not_expressed=(refused,), notes=notes)
