"""From the policy's native options to keys of the configuration string."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from gpumem.plugin import (
    Deadline,
    Expectation,
    FrameworkSettings,
    Moment,
    NotExpressed,
    Origin,
    PlanPart,
    Rank,
    Resolved,
    RuntimeCall,
    Scope,
    Step,
    Strength,
)
from gpumem_torch.choose_allocator import Choice
from gpumem_torch.keys import ACCEPTED, KEYS, Key, accepts, comparable, known, looks_like, option_text, reads_whole
from gpumem_torch.release import Release
from gpumem_torch.runtime import LEAVE_AS_IS
from gpumem_torch.situation import Situation

_WORDS = {("backend", "cudaMallocAsync"): "async", ("expandable_segments", "True"): "vmm"}


@dataclass(frozen=True, slots=True)
class Options:
    """The options that can be passed through.

    Attributes:
        keys: the keys of the configuration string to set.
        origins: who asked for each key.
        parts: refusals, expectations, notes, and steps for what the user's own string decides.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    parts: PlanPart = field(default_factory=PlanPart)


def translate_options(settings: FrameworkSettings, choice: Choice, limited: bool, situation: Situation) -> Options:
    """Check every option against the keys of the installed release."""
    keys: dict[str, str] = {}
    origins: dict[str, Origin] = {}
    parts = PlanPart()
    segment = _large_segment(settings, situation)
    for name, option in settings.options.items():
        text = option_text(option.value)
        reason = _refusal(name, text, segment, choice, situation)
        if reason:
            asked = f"options.{name}={option.value}"
            refusal = NotExpressed(settings.framework, f"options.{name}", reason, option.origin, asked=asked)
            parts += PlanPart(not_expressed=(refusal,))
            continue
        mine = situation.configuration.values.get(name)
        if mine is not None and option.origin.rank > Rank.NATIVE:
            parts += _left_to_user(name, mine, option)
            continue
        keys[name], origins[name] = text, option.origin
        parts += PlanPart(expectations=(_expectation(KEYS[name], text),))
    values = {**situation.configuration.values, **keys}
    if "garbage_collection_threshold" in keys and not limited:
        note = "garbage_collection_threshold has no effect without a limit (pytorch/pytorch#106660)"
        parts += PlanPart(notes=(note,))
    if (
        values.get("expandable_segments", choice.keys.get("expandable_segments")) == "True"
        and "max_split_size_mb" in keys
    ):
        note = (
            "max_split_size_mb together with expandable segments: near the limit PyTorch may fail with an internal "
            "assertion instead of running out of memory (pytorch/pytorch#119452)"
        )
        parts += PlanPart(notes=(note,))
    return Options(keys, origins, parts)


def _large_segment(settings: FrameworkSettings, situation: Situation) -> int:
    """Return the large segment in MiB that will be in force: other keys must not be below it."""
    option = settings.options.get("large_segment_size_mb")
    text = option_text(option.value) if option else situation.configuration.values.get("large_segment_size_mb", "")
    return reads_whole(text, None) or 20


def _refusal(name: str, text: str, segment: int, choice: Choice, situation: Situation) -> str:
    """Return why an option cannot be passed through, empty where it can."""
    if name == "per_process_memory_fraction":
        return "write fraction or cap in the policy instead: they hold per device and are read back"
    key = known(name, situation.release)
    if key is None:
        return _unknown(name, situation.release)
    if not (accepts(key, text, situation.release, segment) and looks_like(key, text)):
        return f"{text!r} is not accepted by PyTorch; accepted: {ACCEPTED[key.form]}"
    wanted = choice.keys.get(name)
    contradicts = wanted is not None and wanted != text
    if choice.origin and name in {"backend", "expandable_segments"}:
        contradicts = contradicts or _WORDS.get((name, text), choice.word) != choice.word
        contradicts = contradicts or (choice.word, name, text) in {
            ("async", "backend", "native"),
            ("vmm", "expandable_segments", "False"),
        }
    if contradicts:
        return f"allocator={choice.word} ({choice.origin}) says otherwise"
    return ""


def _unknown(name: str, release: Release | None) -> str:
    key = KEYS.get(name)
    if key is not None and release is not None:
        return (
            f"PyTorch {release[0]}.{release[1]} does not know it; it came with {key.since[0]}.{key.since[1]}. "
            "A key that is not known makes CUDA unusable, so it was left out"
        )
    near = get_close_matches(name, KEYS, 1)
    return "is no key of PyTorch's allocator configuration that gpumem knows" + (
        f"; did you mean {near[0]}?" if near else ""
    )


def _expectation(key: Key, text: str) -> Expectation:
    tolerance = 1e-6 if key.form in {"share", "open share"} else 0.0
    return Expectation(f"options.{key.name}", None, comparable(key, text), tolerance=tolerance)


def _left_to_user(name: str, text: str, option: Resolved[object]) -> PlanPart:
    """Return the parts for an option that the user's own string decides against a weaker source."""
    step = Step(
        action=RuntimeCall(LEAVE_AS_IS, {}, f"{name}:{text} (the user's own string)"),
        fields=(f"options.{name}",),
        because=option.origin,
        moment=Moment.ON_IMPORT,
        deadline=Deadline.NEVER,
        scope=Scope.PROCESS,
        strength=Strength.HARD,
        note=f"the user's own configuration string sets it to {text}, which is stronger than {option.origin}",
    )
    return PlanPart((step,), (_expectation(KEYS[name], text),))
