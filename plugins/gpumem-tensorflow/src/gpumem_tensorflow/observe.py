"""Reads back what is in force, as observations."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from gpumem.plugin import Observation, cuda_state
from gpumem_tensorflow.context_view import Context, context_module, current_context, gpus, ordinal, visible_gpus
from gpumem_tensorflow.options import OPTIONS
from gpumem_tensorflow.read_back import (
    LIMIT_SOURCE,
    StartRecord,
    allocator_in_force,
    device_limits,
    growth_in_force,
    take_record,
)
from gpumem_tensorflow.start_guard import StartGuard, find_guard
from gpumem_tensorflow.variables import ASYNC_PREALLOCATION

_BEFORE = "TensorFlow reports limits once its context exists"
_UNSURE = (
    "; a CUDA context existed before gpumem watched: if TensorFlow made it (Session, Server, device_lib), its "
    "allocators exist with what was in force then"
)


def observe(_top: ModuleType) -> tuple[Observation, ...]:
    """Return what TensorFlow reports, one observation per field and device."""
    module = context_module()
    return observe_context(module) if module is not None else ()


def observe_context(module: ModuleType) -> tuple[Observation, ...]:
    """Return the observations, given TensorFlow's module of the context."""
    context = current_context(module)
    guard = find_guard(module)
    if context is None or context._context_handle is None:
        return _before_start(context, guard)
    record = guard.record if guard is not None else None
    record = record or take_record(context, certain=False)
    grows, growth_source = growth_in_force(record)
    word, allocator_source = allocator_in_force(record)
    taken: object = None if grows is None else not grows
    if word == "async":
        taken, growth_source = _taken_by_async(record), f"{ASYNC_PREALLOCATION}, {allocator_source}"
    return (
        *_limits(module, context, guard, word, allocator_source),
        _told("preallocate", taken, growth_source),
        _told("allocator", word, allocator_source),
        Observation("visible", None, _visible(context, guard), "tf.config.get_visible_devices()"),
        *_options(record),
    )


def _told(field: str, value: object, text: str) -> Observation:
    """Return an observation whose text is the source of a value, or the reason for none."""
    return Observation(field, None, value, "" if value is None else text, text if value is None else "")


def _taken_by_async(record: StartRecord) -> bool | int:
    """Return what the async allocator took ahead: a size, or True for -1, which means the whole limit."""
    text = record.variables.get(ASYNC_PREALLOCATION, "")
    if text == "-1":
        return True
    return int(text) if text.isdigit() and int(text) else False


def _before_start(context: Context | None, guard: StartGuard | None) -> tuple[Observation, ...]:
    numbers = {ordinal(device) for device in gpus(context)} if context is not None else set()
    numbers |= _named(guard)
    unsure = bool(cuda_state().contexts) if guard is None else not guard.clean
    why = _BEFORE + (_UNSURE if unsure else "")
    limits = tuple(Observation("limit", number, None, LIMIT_SOURCE, why) for number in sorted(numbers))
    others = ("limit", "preallocate", "allocator", "visible")
    return (*limits, *(Observation(field, None, None, "", why) for field in others))


def _limits(
    module: ModuleType, context: Context, guard: StartGuard | None, word: str | None, allocator_source: str
) -> tuple[Observation, ...]:
    """Return the limit of every visible GPU, and for the whole process the largest where no device was named."""
    numbers = [ordinal(device) for device in visible_gpus(context)]
    if word in ("async", "direct"):
        # They read a limit and do not hold it: 15808 MiB were granted under a memory_limit of 2048 MB.
        source = f"{allocator_source}: the {word} allocator holds no limit"
        return tuple(Observation("limit", number, 0, source) for number in (*numbers, None))
    found = device_limits(module, context) if word is not None else allocator_source
    if isinstance(found, str):
        return tuple(Observation("limit", number, None, LIMIT_SOURCE, found) for number in (*numbers, None))
    named, shared = _named(guard), _as_shares(guard)
    observations = [
        _limit(number, amount, as_share=number in shared or (None in shared and number not in named))
        for number, amount in found.items()
    ]
    others = [item for item in observations if item.device not in named and item.value is not None]
    if others:
        largest = max(others, key=lambda item: item.value)  # type: ignore[arg-type,return-value]  # numbers alone
        observations.append(Observation("limit", None, largest.value, f"{largest.source}, the largest"))
    return tuple(observations)


def _limit(number: int, amount: int, *, as_share: bool) -> Observation:
    if not as_share:
        return Observation("limit", number, amount, LIMIT_SOURCE)
    total = next((device.total for device in cuda_state().devices if device.ordinal == number), None)
    if not total:
        return Observation("limit", number, None, LIMIT_SOURCE, "CUDA does not tell the device's total")
    return Observation("limit", number, amount / total, f"{LIMIT_SOURCE} / cuDeviceTotalMem()")


def _named(guard: StartGuard | None) -> set[int]:
    """Return the ordinals for which the limit of all other devices does not hold."""
    named: set[int] = set()
    for call in guard.calls("limit") if guard is not None else ():
        arguments: Any = call.arguments
        named |= set(arguments["besides"]) if arguments["device"] is None else {arguments["device"]}
    return named


def _as_shares(guard: StartGuard | None) -> set[int | None]:
    """Return the ordinals whose limit was planned as a share of the total; None stands for all others."""
    calls = guard.calls("limit") if guard is not None else ()
    return {call.arguments["device"] for call in calls if call.arguments["share"] is not None}  # type: ignore[misc]


def _visible(context: Context, guard: StartGuard | None) -> object:
    """Return the visible ordinals, in the form in which they were asked."""
    seen = tuple(ordinal(device) for device in visible_gpus(context))
    asked = [call.arguments["ordinals"] for call in guard.calls("visible")] if guard is not None else []
    return "all" if asked == ["all"] and len(seen) == len(gpus(context)) else seen


def _options(record: StartRecord) -> tuple[Observation, ...]:
    if not record.certain:
        why = "TensorFlow reads its options at its start, which gpumem did not see, and does not tell them"
        return tuple(Observation(f"options.{name}", None, None, "", why) for name in OPTIONS)
    seen = "the variable, as seen at TensorFlow's start"
    values = ((name, record.variables.get(name)) for name in OPTIONS)
    unset = "the variable was unset at TensorFlow's start"
    return tuple(Observation(f"options.{n}", None, value, seen, unset if value is None else "") for n, value in values)
