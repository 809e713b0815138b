"""Reads back what is in force, as observations."""

from __future__ import annotations

from types import ModuleType

from gpumem.plugin import Observation

from gpumem_tensorflow.context_view import (
    Context,
    context_module,
    current_context,
    gpus,
    ordinal,
    visible_gpus,
)
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

_BEFORE = "TensorFlow reports limits once its context exists"


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
    return (
        *_limits(module, context, guard, word, allocator_source),
        _told("preallocate", None if grows is None else not grows, growth_source),
        _told("allocator", word, allocator_source),
        Observation("visible", None, _visible(context, guard), "tf.config.get_visible_devices()"),
        *_options(record),
    )


def _told(field: str, value: object, text: str) -> Observation:
    """Return an observation whose text is the source of a value, or the reason for none."""
    return Observation(field, None, value, "" if value is None else text, text if value is None else "")


def _before_start(context: Context | None, guard: StartGuard | None) -> tuple[Observation, ...]:
    numbers = {ordinal(device) for device in gpus(context)} if context is not None else set()
    if guard is not None:
        numbers |= _named(guard)
    limits = tuple(Observation("limit", number, None, LIMIT_SOURCE, _BEFORE) for number in sorted(numbers))
    others = tuple(
        Observation(field, None, None, "", _BEFORE) for field in ("limit", "preallocate", "allocator", "visible")
    )
    return (*limits, *others)


def _limits(
    module: ModuleType, context: Context, guard: StartGuard | None, word: str | None, allocator_source: str
) -> tuple[Observation, ...]:
    """Return the limit of every visible GPU, and for the whole process the largest where no device was named."""
    found = device_limits(module, context)
    numbers = [ordinal(device) for device in visible_gpus(context)]
    if isinstance(found, str):
        return tuple(Observation("limit", number, None, LIMIT_SOURCE, found) for number in (*numbers, None))
    if word in ("async", "direct"):
        # They read a limit and do not hold it: 15808 MiB were granted under a memory_limit of 2048 MB.
        source = f"{allocator_source}: the {word} allocator holds no limit"
        return tuple(Observation("limit", number, 0, source) for number in (*numbers, None))
    if word is None:
        return tuple(Observation("limit", number, None, LIMIT_SOURCE, allocator_source) for number in (*numbers, None))
    named = _named(guard)
    others = [limit for number, limit in found.items() if number not in named]
    observations = [Observation("limit", number, limit, LIMIT_SOURCE) for number, limit in found.items()]
    if others:
        observations.append(Observation("limit", None, max(others), f"{LIMIT_SOURCE}, the largest"))
    return tuple(observations)


def _named(guard: StartGuard | None) -> set[int]:
    """Return the ordinals for which the limit of all other devices does not hold."""
    named: set[int] = set()
    for call in guard.calls("limit") if guard is not None else ():
        only, besides = call.arguments["device"], call.arguments["besides"]
        named |= {only} if isinstance(only, int) else set(besides)  # type: ignore[call-overload]
    return named


def _visible(context: Context, guard: StartGuard | None) -> object:
    """Return the visible ordinals, in the form in which they were asked."""
    seen = tuple(ordinal(device) for device in visible_gpus(context))
    asked = [call.arguments["ordinals"] for call in guard.calls("visible")] if guard is not None else []
    return "all" if asked == ["all"] and len(seen) == len(gpus(context)) else seen


def _options(record: StartRecord) -> tuple[Observation, ...]:
    if not record.certain:
        why = "TensorFlow reads its options at its start, which gpumem did not see, and does not tell them"
        return tuple(Observation(f"options.{name}", None, None, "", why) for name in OPTIONS)
    return tuple(
        Observation(f"options.{name}", None, record.variables.get(name), "the variable, as seen at TensorFlow's start")
        if name in record.variables
        else Observation(f"options.{name}", None, None, "", "the variable was unset at TensorFlow's start")
        for name in OPTIONS
    )
