"""JAX's own options that a policy may pass through, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from gpumem.plugin import Expectation, Origin, Rank, SetVariable, Strength
from gpumem_jax import builds, variables
from gpumem_jax.plan_part import Part, Situation, refused, variable_step


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        variable: the variable that says it.
        kind: what its value is.
        client: its name among the options of JAX's GPU client; empty where only the variable says it, which the
            client itself reads when it is made.
        since: the first jaxlib that reads it.
    """

    variable: str
    kind: Literal["number", "switch"]
    client: str = ""
    since: builds.Version = (0, 4, 33)


OPTIONS: Final[Mapping[str, Option]] = {
    "collective_mem_size_mb": Option(variables.COLLECTIVE_SIZE, "number", "collective_memory_size"),
    "abort_collectives_on_failure": Option(
        variables.ABORT, "switch", "abort_collectives_on_failure", builds.ABORT_COLLECTIVES
    ),
    "use_tfrt_gpu_client": Option(variables.TFRT, "switch", "use_tfrt_gpu_client", builds.TFRT_CLIENT),
    "host_memory_limit_gb": Option(variables.HOST_LIMIT, "number"),
    "host_memory_preallocate": Option(variables.HOST_PREALLOCATE, "switch", since=(0, 5, 0)),
}
"""The options of a policy (jaxlib/xla_client.py; the last two: xla/pjrt/gpu/gpu_helpers.cc, GetGpuHostAllocator)."""

_OWN_FIELDS: Final = {
    "memory_fraction": "cap or fraction",
    "preallocate": "preallocate or growth",
    "allocator": "allocator",
    "visible_devices": "visible",
}


def translate_options(situation: Situation) -> Part:
    """Return the part of the plan for the framework's own options."""
    return sum(
        (_one(situation, name, setting.value, setting.origin) for name, setting in situation.settings.options.items()),
        Part(),
    )


def _one(situation: Situation, name: str, value: object, because: Origin) -> Part:
    field, asked = f"options.{name}", f"{name}={value}"
    option = OPTIONS.get(name)
    if option is None:
        own = _OWN_FIELDS.get(name)
        known = ", ".join(OPTIONS)
        reason = f"use the policy's own field: {own}" if own else f"JAX has no such option; there are {known}"
        return refused(field, reason, because, asked=asked)
    version = builds.jaxlib_version(situation.state.versions)
    if version is not None and version < option.since:
        since = ".".join(str(number) for number in option.since)
        return refused(field, f"jaxlib reads it from {since} on", because, asked=asked)
    normalised = _whole(value) if option.kind == "number" else _switch(value)
    if normalised is None:
        wanted = "a whole number that is not negative" if option.kind == "number" else "true or false"
        return refused(field, f"{value!r} is not {wanted}", because, asked=asked)
    text = str(int(normalised))  # a switch is 1 or 0 to both of JAX's parsers
    step = variable_step(SetVariable(option.variable, text), (field,), because, Strength.ADVICE)
    if not option.client:
        return Part(steps=(step,))
    client = normalised << 20 if option.kind == "number" else bool(normalised)
    expected = () if because.rank == Rank.NATIVE else (Expectation(field, None, normalised),)
    return Part(steps=(step,), expectations=expected, options={option.client: client})


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if isinstance(value, int) and value >= 0 else None


def _switch(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    words = {"true": True, "1": True, "false": False, "0": False}
    return words.get(str(value).strip().lower()) if isinstance(value, str | int) else None
