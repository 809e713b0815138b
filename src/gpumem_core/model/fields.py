"""The fields of a policy: what each is called, where it may stand, and how its value is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from gpumem_core.model.declaration import Value
from gpumem_core.model.read_value import (
    ALLOCATORS,
    REACTIONS,
    read_codes,
    read_fraction,
    read_limit,
    read_options,
    read_preallocate,
    read_processes,
    read_size,
    read_truth,
    read_visible,
    word_reader,
)
from gpumem_core.sizes import ACCEPTED

Level = Literal["policy", "device", "framework", "framework_device"]
"""Where a field may stand: at the top, under devices.D, frameworks.F, or frameworks.F.devices.D."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field.

    Attributes:
        name: the name in Python and, with a hyphen for each underscore, in TOML.
        read: returns the normalised value or raises `FieldError`.
        levels: where it may stand.
        accepted: the accepted forms, for messages and the documentation.
        meaning: one sentence for the documentation.
        later: not empty for a field whose machinery does not exist yet: why it is refused.
    """

    name: str
    read: Callable[[object], Value]
    levels: frozenset[Level]
    accepted: str
    meaning: str
    later: str = ""


def _levels(*levels: Level) -> frozenset[Level]:
    return frozenset(levels)


_EVERYWHERE: Final = _levels("policy", "device", "framework", "framework_device")
_LATER = "this version of gpumem reads the field but cannot act on it yet, and does not ignore it"

FIELD_SPECS: Final[Mapping[str, FieldSpec]] = {
    spec.name: spec
    for spec in (
        FieldSpec(
            "cap",
            read_limit,
            _EVERYWHERE,
            f'{ACCEPTED}, or "none" for no limit',
            "The most device memory each framework's allocator may hold, per process and device.",
        ),
        FieldSpec(
            "fraction",
            read_fraction,
            _EVERYWHERE,
            'a number above 0 and at most 1 (above 1 only with the allocator "managed"), "50%", or "none" for no limit',
            "This program's share of each device's total, all its processes together. With a cap, the smaller wins.",
        ),
        FieldSpec(
            "preallocate",
            read_preallocate,
            _EVERYWHERE,
            f"false, true, or a size ({ACCEPTED})",
            "What is taken at first touch: nothing ahead, the whole limit, or this much and then growth to the limit.",
        ),
        FieldSpec(
            "growth",
            read_truth,
            _EVERYWHERE,
            'true or false (as text also "yes", "no", "on", "off", "1", "0")',
            "The other way to say preallocate: true is preallocate = false, false is preallocate = true.",
        ),
        FieldSpec(
            "allocator",
            word_reader(ALLOCATORS),
            _levels("policy", "framework"),
            ", ".join(f'"{word}"' for word in ALLOCATORS),
            "Which kind of allocator the framework uses.",
        ),
        FieldSpec(
            "visible",
            read_visible,
            _levels("policy", "framework"),
            '"all", "none", or a list of ordinals such as [0, 1]',
            "Which GPUs the framework sees.",
        ),
        FieldSpec(
            "headroom",
            read_size,
            _levels("policy", "device"),
            ACCEPTED,
            "Left free per process for the CUDA context, library handles and NCCL.",
        ),
        FieldSpec(
            "processes_per_device",
            read_processes,
            _levels("policy"),
            'a whole number from 1 on, or "auto"',
            "How many of this program's processes share a device.",
        ),
        FieldSpec(
            "process_cap",
            read_size,
            _levels("policy"),
            ACCEPTED,
            "What one process may hold in all, divided among its frameworks by their shares.",
            later=_LATER,
        ),
        FieldSpec(
            "share",
            read_fraction,
            _levels("framework"),
            "a number above 0 and at most 1",
            "This framework's part of the process cap.",
            later=_LATER,
        ),
        FieldSpec(
            "options",
            read_options,
            _levels("framework"),
            "a table of the framework's own option names and values",
            "Options passed through to the framework as they are, checked by its plugin.",
        ),
        FieldSpec(
            "on_late",
            word_reader(REACTIONS),
            _levels("policy", "framework"),
            ", ".join(f'"{word}"' for word in REACTIONS),
            "What happens with a setting that comes too late.",
        ),
        FieldSpec(
            "on_unsupported",
            word_reader(REACTIONS),
            _levels("policy", "framework"),
            ", ".join(f'"{word}"' for word in REACTIONS),
            "What happens with a field that a framework cannot express; by default an error for limits and hiding, "
            "a warning for the rest.",
        ),
        FieldSpec(
            "ignore",
            read_codes,
            _levels("policy"),
            'a list of warning codes such as ["GM204"]',
            "Warnings that are not given.",
        ),
    )
}

TABLES: Final[Mapping[str, frozenset[Level]]] = {
    "devices": _levels("policy", "framework"),
    "frameworks": _levels("policy"),
}
"""The two fields that are tables of further fields, and where each may stand."""


def names_at(level: Level) -> tuple[str, ...]:
    """Return the names of the fields and tables that may stand at `level`."""
    fields = [name for name, spec in FIELD_SPECS.items() if level in spec.levels]
    return (*fields, *(name for name, levels in TABLES.items() if level in levels))
