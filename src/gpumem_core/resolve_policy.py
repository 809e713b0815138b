"""Declarations to decisions: for each framework, device and setting the strongest source that says anything wins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from gpumem_core.devices.visible_devices import match_uuid
from gpumem_core.model.declaration import UNLIMITED, Declaration
from gpumem_core.model.device import Device, Devices
from gpumem_core.model.fault import Fault
from gpumem_core.model.origin import DEFAULT_ORIGIN, Rank
from gpumem_core.model.read_value import nearest
from gpumem_core.model.settings import Allocator, FrameworkSettings, Reaction, Resolved, Visible
from gpumem_core.sizes import Size

LIMIT: Final = ("cap", "fraction")
"""One setting: a stronger source replaces the pair."""


def decide(
    declarations: Iterable[Declaration], fields: Sequence[str], framework: str, device: Device | None = None
) -> tuple[Declaration, ...]:
    """Return the declarations that decide `fields` for a framework on a device.

    The strongest rank that says anything decides; inside one rank the most specific place does: the framework's
    device, the framework, the device, the top. Among equals the first declared one wins.

    Args:
        declarations: everything declared.
        fields: the fields that are one setting together, such as cap and fraction.
        framework: the framework's name.
        device: the device; None for what holds for devices without an override.
    """
    best: dict[str, Declaration] = {}
    best_key: tuple[int, int] | None = None
    for declaration in declarations:
        if declaration.field not in fields or declaration.framework not in (None, framework):
            continue
        if declaration.device is not None and not (device and matches(declaration.device, device)):
            continue
        key = (int(declaration.origin.rank), -_specificity(declaration))
        if best_key is None or key < best_key:
            best_key, best = key, {declaration.field: declaration}
        elif key == best_key and (declaration.field in best) is False:
            best[declaration.field] = declaration
    return tuple(best[field] for field in fields if field in best)


def _specificity(declaration: Declaration) -> int:
    # A UUID names one card for certain, an ordinal only a place.
    by_device = 0 if declaration.device is None else (1 if declaration.device.isdigit() else 2)
    return (4 if declaration.framework else 0) + by_device


def matches(key: str, device: Device) -> bool:
    """Return whether a device key (an ordinal, or the beginning of a UUID) means `device`."""
    if key.isdigit():
        return int(key) == device.ordinal
    return device.uuid is not None and bool(match_uuid(key, (device.uuid,)))


def with_canonical_names(
    declarations: Iterable[Declaration], aliases: Mapping[str, str], installable: Mapping[str, str]
) -> tuple[tuple[Declaration, ...], tuple[Fault, ...]]:
    """Replace aliases by the frameworks' names, and find names that no plugin has.

    Args:
        declarations: everything declared.
        aliases: every accepted name, the canonical ones included, to the canonical one.
        installable: frameworks whose plugin is not installed, with its distribution.
    """
    renamed: list[Declaration] = []
    faults: dict[str, Fault] = {}
    written: dict[tuple[object, ...], str] = {}
    for item in declarations:
        if item.framework is None or item.framework in aliases:
            canonical = aliases[item.framework] if item.framework else None
            place = (item.origin.rank, canonical, item.device, item.field, item.option)
            first = written.setdefault(place, item.framework or "")
            if item.framework and first != item.framework and item.origin.rank is not Rank.SUGGESTION:
                problem = f"means the same as frameworks.{first}"
                faults[item.key] = Fault(item.key, item.origin, problem)
            renamed.append(Declaration(item.field, item.value, item.origin, canonical, item.device, item.option))
        elif item.framework in installable:
            problem = f"its plugin is not installed; install it with: pip install {installable[item.framework]}"
            faults[item.framework] = Fault(f"frameworks.{item.framework}", item.origin, problem)
        else:
            known = sorted({*aliases.values(), *installable})
            near = nearest(item.framework, sorted({*aliases, *installable}))
            faults[item.framework] = Fault(
                f"frameworks.{item.framework}", item.origin, "there is no plugin of this name", ", ".join(known), near
            )
    return tuple(renamed), tuple(faults.values())


def settle(declarations: Sequence[Declaration], framework: str) -> FrameworkSettings:
    """Return the settings of a framework that do not depend on a device."""
    allocator = _one(declarations, "allocator", framework)
    visible = _one(declarations, "visible", framework)
    on_late = _one(declarations, "on_late", framework)
    on_unsupported = _one(declarations, "on_unsupported", framework)
    return FrameworkSettings(
        framework,
        named=any(
            item.framework == framework and item.origin.rank not in (Rank.NATIVE, Rank.SUGGESTION)
            for item in declarations
        ),
        allocator=cast("Resolved[Allocator] | None", allocator),
        visible=cast("Resolved[Visible] | None", visible),
        options=_options(declarations, framework),
        on_late=cast("Resolved[Reaction]", on_late or Resolved("error", DEFAULT_ORIGIN)),
        on_unsupported=cast("Resolved[Reaction] | None", on_unsupported),
    )


def _one(declarations: Sequence[Declaration], field: str, framework: str) -> Resolved[object] | None:
    decided = decide(declarations, (field,), framework)
    return Resolved(decided[0].value, decided[0].origin) if decided else None


def _options(declarations: Sequence[Declaration], framework: str) -> dict[str, Resolved[object]]:
    """Return the options; each name is a setting of its own."""
    mine = [item for item in declarations if item.field == "options" and item.framework == framework and item.option]
    chosen: dict[str, Resolved[object]] = {}
    for item in sorted(mine, key=lambda item: item.origin.rank):
        chosen.setdefault(str(item.option), Resolved(item.value, item.origin))
    return chosen


def faults_of(declarations: Sequence[Declaration], settings: FrameworkSettings, devices: Devices) -> list[Fault]:
    """Return the faults that only show when all sources are put together, for one framework."""
    if settings.hidden:
        return []
    faults: dict[Fault, None] = {}
    managed = settings.allocator is not None and settings.allocator.value == "managed"
    shared = any(item.field in {"headroom", "processes_per_device"} for item in declarations)
    for device in _to_check(declarations, devices):
        limit = decide(declarations, LIMIT, settings.framework, device)
        for item in limit:
            if item.field == "fraction" and isinstance(item.value, float) and item.value > 1 and not managed:
                faults[_above_one(item)] = None
        taken = decide(declarations, ("preallocate",), settings.framework, device)
        bounded = shared or any(item.value is not UNLIMITED for item in limit)
        if taken and taken[0].value is True and taken[0].origin.rank != Rank.NATIVE and not bounded:
            problem = f"the whole limit is to be taken at first touch by {settings.framework}, but it has no limit"
            accepted = 'a limit beside it, such as cap = "8GiB" or fraction = 0.5'
            faults[Fault(taken[0].key, taken[0].origin, problem, accepted)] = None
        for item in limit:
            if taken and taken[0].origin.rank is item.origin.rank and _more(taken[0].value, item.value):
                problem = f"{taken[0].value} taken ahead is more than the {item.field} of {item.value} ({item.origin})"
                faults[Fault(taken[0].key, taken[0].origin, problem, f"a size up to {item.value}, or true")] = None
    return list(faults)


def _more(taken: object, cap: object) -> bool:
    """Return whether both are amounts in bytes and the first is the larger one."""
    if not (isinstance(taken, Size) and isinstance(cap, Size)) or taken.bytes is None or cap.bytes is None:
        return False
    return taken.bytes > cap.bytes


def _to_check(declarations: Sequence[Declaration], devices: Devices) -> list[Device | None]:
    """Return all known devices; where they are not known, every ordinal that is named, and any other device."""
    if devices.complete and devices.found:
        return list(devices.found)
    named = {int(item.device) for item in declarations if item.device and item.device.isdigit()}
    return [None, *(Device(ordinal) for ordinal in sorted(named))]


def _above_one(item: Declaration) -> Fault:
    problem = f'{item.value:g} is more than the whole device, which only the allocator "managed" allows'
    value = cast("float", item.value)
    percent = f"{value / 100:g}" if 1 < value <= 100 and value.is_integer() else ""
    return Fault(item.key, item.origin, problem, "a number above 0 and at most 1", percent)


def unmatched_device_keys(declarations: Iterable[Declaration], devices: Sequence[Device]) -> dict[str, Declaration]:
    """Return the device keys that match no device, each with one declaration that uses it."""
    return {
        item.device: item
        for item in declarations
        if item.device is not None and not any(matches(item.device, device) for device in devices)
    }


def ambiguous_device_keys(declarations: Iterable[Declaration], devices: Sequence[Device]) -> tuple[Fault, ...]:
    """Return a fault for each beginning of a UUID that fits several devices."""
    uuids = tuple(device.uuid for device in devices if device.uuid)
    faults: dict[str, Fault] = {}
    for item in declarations:
        if item.device is None or item.device.isdigit():
            continue
        fitting = match_uuid(item.device, uuids)
        if len(fitting) > 1:
            faults[item.device] = Fault(
                f"devices.{item.device}",
                item.origin,
                f"the beginning of a UUID fits {' and '.join(fitting)}",
                "more of the UUID",
            )
    return tuple(faults.values())
