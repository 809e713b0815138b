"""What a plugin says about its framework, and in which state that framework is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

Field = Literal["limit", "preallocate", "allocator", "visible", "options"]
FIELDS: tuple[Field, ...] = ("limit", "preallocate", "allocator", "visible", "options")
"""The things a plan expresses: `cap`, `fraction` and `headroom` together are the `limit`."""


class Answer(Enum):
    """Yes, no, or unknown. Yes and no are never wrong; where a probe cannot tell, the answer is unknown."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AllocatorSupport:
    """One allocator word in one framework, for the mapping table.

    Attributes:
        word: the policy's word, such as ``pool``.
        native: what the framework calls it, such as ``cuda_async``.
        holds_cap: whether a limit holds under it.
        note: what else a user must know, versions included.
    """

    word: str
    native: str
    holds_cap: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class FieldSupport:
    """How a plugin expresses one policy field, for the mapping table.

    Attributes:
        field: the policy field.
        native: the framework's own setting.
        deadline: until when it can be set, in words.
        strength: how well it holds.
        scope: for what it holds.
        note: what else a user must know.
    """

    field: str
    native: str
    deadline: str
    strength: str
    scope: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Framework:
    """What a plugin says about its framework.

    Attributes:
        name: the name in policies; the same as the top-level import name, the entry point and the extra.
        title: the name for people.
        aliases: other names accepted in policies.
        distributions: the distributions that can provide it, most usual first; the installed one gives the version.
        variables: every environment variable of the framework that this plugin reads or writes.
        limit_unit: what the framework's own limit counts: ``bytes``, or a ``fraction`` of the total. A limit in
            the other unit needs the total, and only then are the devices asked for.
        fields: how each policy field is expressed, for the mapping table.
        allocators: the allocator words it has, for the mapping table.
        outside_of_caps: what no cap of this framework covers (context, library handles), one sentence.
        allocate: ``module:function`` of a function that takes a number of bytes, puts that many on the framework's
            current GPU with the framework's own allocator, and returns what keeps them there. It imports the
            framework when it is called, not when its module is imported. `gpumem demo` and `gpumem prove` use it;
            without it they leave the framework out.
        out_of_memory: regular expressions, searched in ``ExceptionClass: text`` of an error of the framework; one
            that matches means that its allocator or the card had no room.
    """

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    limit_unit: Literal["bytes", "fraction"] = "bytes"
    fields: tuple[FieldSupport, ...] = ()
    allocators: tuple[AllocatorSupport, ...] = ()
    outside_of_caps: str = ""
    allocate: str = ""
    out_of_memory: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NativeSetting:
    """A setting the user made in the framework's own way.

    Attributes:
        field: the policy field it means: ``cap``, ``fraction``, ``preallocate``, ``allocator`` or ``visible``.
        value: the value, normalised as for that field (`Size`, float, bool or int, str, tuple of ints).
        source: where it was made, such as ``environment NAME`` or ``NAME.set_limit()``.
        device: the ordinal it is for, None for all devices.
    """

    field: str
    value: object
    source: str
    device: int | None = None


@dataclass(frozen=True, slots=True)
class NativeFault:
    """A variable the user set, which the framework cannot read or reads otherwise than it looks.

    Attributes:
        variable: its name.
        text: its value.
        problem: what happens, as part of a sentence.
        fatal: whether the framework loses the GPU or ends the process because of it.
    """

    variable: str
    text: str
    problem: str
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class NativeReading:
    """What the user's own variables mean to the framework.

    Attributes:
        settings: the policy fields they decide.
        faults: values that are wrong or misleading.
    """

    settings: tuple[NativeSetting, ...] = ()
    faults: tuple[NativeFault, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """One setting as the framework itself reports it.

    Attributes:
        field: one of `FIELDS`; ``options.NAME`` for a native option.
        device: the ordinal, None for the whole process.
        value: what is in force; for a limit in bytes or as a share, as the expectation of the plan has it;
            None where it cannot be known.
        source: the call or attribute that was read, for people.
        why: the reason where `value` is None.
        held: bytes that the allocator holds already, None where unknown; a cap below that is exceeded.
    """

    field: str
    device: int | None
    value: object
    source: str
    why: str = ""
    held: int | None = None


@dataclass(frozen=True, slots=True)
class FrameworkState:
    """In which state a framework is, found without starting it.

    Attributes:
        versions: installed distributions with their versions, from metadata.
        imported: whether it is imported; a module that is still initialising counts as no.
        started: whether the settings with the deadline `START` can no longer be changed.
        evidence: what was read to tell, for people.
        applicable: False where this process has no GPU this framework could use (a CPU build, a CPU client).
        why_not: the reason where it is not applicable.
        settings: settings that the user made through the framework's API, as for `NativeReading`.
        observations: what is in force already.
        details: what the plugin's own `plan` needs to know besides; plain values.
    """

    versions: Mapping[str, str] = field(default_factory=dict)
    imported: Answer = Answer.NO
    started: Answer = Answer.NO
    evidence: str = ""
    applicable: bool = True
    why_not: str = ""
    settings: tuple[NativeSetting, ...] = ()
    observations: tuple[Observation, ...] = ()
    details: Mapping[str, object] = field(default_factory=dict)
