"""An allocator word, as JAX's allocator. A limit beats it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gpumem.plugin import Expectation, Origin, Rank, RemoveVariable, SetVariable, Step, Strength
from gpumem_jax import builds, variables
from gpumem_jax.limit_figures import LimitFigures
from gpumem_jax.plan_part import Part, Situation, refused, variable_step

_NATIVE: Final = {"pool": "bfc", "async": "cuda_async", "direct": "platform", "vmm": "vmm", "managed": "bfc"}


@dataclass(frozen=True, slots=True)
class Choice:
    """The allocator that will be in force.

    Attributes:
        word: the policy's word for it.
        part: what the plan does for it.
    """

    word: str
    part: Part


def choose_allocator(situation: Situation, figures: LimitFigures | None) -> Choice:
    """Return the allocator: the asked one where it exists and keeps the limit, else the pool."""
    asked = situation.settings.allocator
    present = _present_word(situation)
    if asked is None or asked.value == "default":
        word, origin = present, asked.origin if asked else None
        if asked is not None and asked.origin.rank != Rank.NATIVE and present != "pool":
            # The framework's own choice was asked for, by a stronger source than the user's variable.
            return Choice("pool", Part(steps=_back_to_default(situation, ("allocator",), asked.origin)))
        if figures is None:
            return Choice(word, Part())
        if _keeps(word, figures):
            # Nothing to set; but where the client's options are written anyway, the limit's allocator goes with them.
            return Choice(word, Part(options={"allocator": "default"} if word == "pool" else {}))
        return Choice("pool", _pool_for_the_limit(situation, figures, word, origin))
    word = str(asked.value)
    missing = _missing(word, situation)
    if missing:
        return Choice("pool", refused("allocator", missing, asked.origin, asked=f"allocator={word}"))
    if figures is not None and not _keeps(word, figures):
        return Choice("pool", _pool_for_the_limit(situation, figures, word, asked.origin))
    if asked.origin.rank == Rank.NATIVE:
        return Choice(word, Part(steps=_users_own(situation, asked.origin), expectations=_expected(word)))
    return Choice(word, _chosen(situation, word, asked.origin))


def _present_word(situation: Situation) -> str:
    """Return the word for what would be in force without gpumem."""
    return situation.user.word


def _keeps(word: str, figures: LimitFigures) -> bool:
    """Return whether the limit holds under an allocator."""
    if word == "managed":
        # XLA's limit is total * max(1, fraction) then (xla/pjrt/gpu/gpu_helpers.cc, CreateBFCAllocator).
        return figures.fraction is not None and figures.fraction >= 1
    return word in variables.HOLDS_CAP


def _missing(word: str, situation: Situation) -> str:
    """Return why this version of JAX does not have an allocator, empty if it has."""
    versions = situation.state.versions
    if word == "vmm":
        jaxlib = builds.jaxlib_version(versions)
        if jaxlib is None:
            return "the version of jaxlib is unknown, and before 0.10.0 the word vmm makes JAX lose the GPU"
        if jaxlib < builds.VMM:
            return f"jaxlib {versions.get('jaxlib')} has no vmm allocator; it came with 0.10.0"
    if word == "direct" and builds.backend_version(versions) in builds.PLATFORM_IS_BFC:
        return (
            "JAX 0.10.1 and 0.10.2 use the pool when their platform allocator is asked for "
            "(https://github.com/jax-ml/jax/issues/39145); use allocator=async, or another version"
        )
    return "" if word in _NATIVE else f"JAX has no allocator of the kind {word}"


def _pool_for_the_limit(situation: Situation, figures: LimitFigures, word: str, origin: Origin | None) -> Part:
    """Keep the limit with the pool, and say that the allocator gives way."""
    native = variables.UNIFIED if word == "managed" else _NATIVE.get(word, word)
    reason = f"JAX keeps no limit with {native}, and the limit goes first: its pool (BFC) keeps {figures.asked}"
    if word == "managed":
        reason += ", because below the whole memory a fraction is none under unified memory"
    steps = _back_to_default(situation, ("limit",), figures.origin)
    part = Part(steps=steps, options={"allocator": "default"})
    return part if origin is None else part + refused("allocator", reason, origin, asked=f"allocator={word}")


def _back_to_default(situation: Situation, fields: tuple[str, ...], because: Origin) -> tuple[Step, ...]:
    """Return the steps that take the user's own choice of an allocator back."""
    steps = []
    if situation.user.allocator not in (None, "default", "bfc"):
        steps.append(variable_step(RemoveVariable(variables.ALLOCATOR), fields, because, Strength.ADVICE))
    if situation.user.unified:
        note = "TensorFlow reads this variable as well"
        steps.append(variable_step(RemoveVariable(variables.UNIFIED), fields, because, Strength.ADVICE, note))
    return tuple(steps)


def _users_own(situation: Situation, because: Origin) -> tuple[Step, ...]:
    environ, note = situation.environ, "the user's own variable, left as it is"
    return tuple(
        variable_step(SetVariable(name, environ[name]), ("allocator",), because, Strength.ADVICE, note)
        for name in (variables.ALLOCATOR, variables.UNIFIED)
        if environ.get(name)
    )


def _chosen(situation: Situation, word: str, because: Origin) -> Part:
    native = _NATIVE[word]
    note = {
        "async": "the driver's default pool, shared with whoever else uses cudaMallocAsync; no maximum",
        "direct": "one request to the driver per array: slow",
        "vmm": "JAX reports no statistics under it",
    }.get(word, "")
    steps = [variable_step(SetVariable(variables.ALLOCATOR, native), ("allocator",), because, Strength.ADVICE, note)]
    if word == "managed":
        shared = SetVariable(variables.UNIFIED, "1")
        note = "TensorFlow in this process reads this variable as well"
        steps.append(variable_step(shared, ("allocator",), because, Strength.ADVICE, note))
    elif situation.user.unified:
        note = "TensorFlow reads this variable as well"
        steps.append(variable_step(RemoveVariable(variables.UNIFIED), ("allocator",), because, Strength.ADVICE, note))
    if word == "async" and not any(budget.preallocate for budget in situation.seen):
        # Without this, cuda_async takes three quarters of each device as soon as JAX starts (run on 0.12.0.1).
        nothing_ahead = SetVariable(variables.PREALLOCATE, "false")
        steps.append(variable_step(nothing_ahead, ("allocator",), because, Strength.GROWTH))
        return Part(tuple(steps), _expected(word), options={"allocator": native, "preallocate": False})
    return Part(tuple(steps), _expected(word), options={"allocator": native})


def _expected(word: str) -> tuple[Expectation, ...]:
    return (Expectation("allocator", None, word),)
