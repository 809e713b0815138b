"""A plan: what will be done for one framework, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from gpumem_core.model.origin import Origin


class Moment(Enum):
    """When a step is carried out."""

    NOW = "now"
    ON_IMPORT = "on import"
    ON_START = "on start"
    EACH_CREATION = "each creation"


class Deadline(Enum):
    """After which moment a step has no effect any more."""

    IMPORT = "import"
    START = "start"
    NEVER = "never"


class Scope(Enum):
    """For what a setting holds."""

    PROCESS = "process"
    DEVICE = "device"
    ALLOCATOR = "allocator"
    OBJECT = "object"


class Strength(Enum):
    """How well a setting holds."""

    HARD = "hard"
    SOFT = "soft"
    GROWTH = "growth"
    ADVICE = "advice"


class Comparison(Enum):
    """How an observed value is compared with the expected one."""

    EQUAL = "equal"
    LIMIT = "limit"
    """In force if above 0 and not above the expected value."""


@dataclass(frozen=True, slots=True)
class SetVariable:
    """Set an environment variable of this process (and so of its children)."""

    name: str
    value: str

    def __str__(self) -> str:
        """Return the assignment as a shell writes it."""
        return f"{self.name}={self.value}"


@dataclass(frozen=True, slots=True)
class RemoveVariable:
    """Remove an environment variable."""

    name: str

    def __str__(self) -> str:
        """Return the removal as a shell writes it."""
        return f"unset {self.name}"


@dataclass(frozen=True, slots=True)
class RuntimeCall:
    """Something the plugin's `apply` hook does with the imported framework.

    Attributes:
        name: which call, the plugin's own word.
        arguments: plain values only.
        text: the call as a person would write it.
    """

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    text: str = ""

    def __str__(self) -> str:
        """Return the call as a person would write it."""
        return self.text or self.name


Action = SetVariable | RemoveVariable | RuntimeCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do.

    Attributes:
        action: what.
        fields: which of the policy's fields it expresses (`gpumem_core.model.framework.FIELDS`; for a native
            option ``options.NAME``).
        because: the strongest origin among the settings it expresses.
        moment: when it is done.
        deadline: after which moment it has no effect.
        scope: for what it holds.
        strength: how well it holds.
        device: the ordinal it is for, None for the whole process.
        note: what a person should know, such as what was rounded.
        reasserted: True where the plugin sets the value again when the framework starts, so that a change of the
            variable by somebody else in between does not matter.
    """

    action: Action
    fields: tuple[str, ...]
    because: Origin
    moment: Moment
    deadline: Deadline
    scope: Scope
    strength: Strength
    device: int | None = None
    note: str = ""
    reasserted: bool = False


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the framework will report when the plan is in force.

    Attributes:
        field: one of `FIELDS`, or ``options.NAME``.
        device: the ordinal, None for the whole process.
        value: the value to find, in the same unit as the plugin's observations.
        comparison: how to compare.
        unit: ``bytes``, ``fraction`` or empty, for people.
        tolerance: relative difference that is still equal (a framework that keeps floats), 0 for none.
    """

    field: str
    device: int | None
    value: object
    comparison: Comparison = Comparison.EQUAL
    unit: str = ""
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True)
class NotExpressed:
    """A field that the plan does not express, and why.

    Attributes:
        framework: the framework.
        field: one of `FIELDS`, or ``options.NAME``.
        reason: why, as a sentence that says what to do instead where there is something.
        origin: where the field was declared.
        device: the ordinal, None for all devices.
        asked: the value as declared, for people.
        waits: True where it is not refused but waits for the framework's own start (unknown totals).
    """

    framework: str
    field: str
    reason: str
    origin: Origin
    device: int | None = None
    asked: str = ""
    waits: bool = False

    def __str__(self) -> str:
        """Return the record as one line."""
        device = "" if self.device is None else f" on device {self.device}"
        asked = self.asked or self.field
        return f"{self.framework}{device}: {asked} ({self.origin}): {self.reason}"


@dataclass(frozen=True, slots=True)
class PlanPart:
    """A part of a plan. Parts are joined with ``+``, or several of them with ``sum(parts, PlanPart())``.

    Attributes:
        steps: as in `Plan`; so are the others.
        expectations: as in `Plan`.
        not_expressed: as in `Plan`.
        notes: as in `Plan`.
    """

    steps: tuple[Step, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    not_expressed: tuple[NotExpressed, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: PlanPart) -> PlanPart:
        """Join two parts, in this order."""
        return PlanPart(
            self.steps + other.steps,
            self.expectations + other.expectations,
            self.not_expressed + other.not_expressed,
            self.notes + other.notes,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that will be done for one framework, and what will not.

    Attributes:
        framework: the framework.
        steps: in the order in which they are carried out.
        expectations: what the framework will report then.
        not_expressed: every asked field that the steps do not express.
        notes: remarks for the report.
    """

    framework: str
    steps: tuple[Step, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    not_expressed: tuple[NotExpressed, ...] = ()
    notes: tuple[str, ...] = ()

    def deciding(self, field: str, device: int | None) -> tuple[tuple[int, Step], ...]:
        """Return the steps that decide a field on a device, with their positions.

        A step for that very device decides there, not the one for all devices.
        """
        all_steps = tuple((position, step) for position, step in enumerate(self.steps) if field in step.fields)
        own = tuple((position, step) for position, step in all_steps if step.device == device)
        if own:
            return own
        return tuple((position, step) for position, step in all_steps if device is None or step.device is None)

    def apart(self, field: str) -> frozenset[int]:
        """Return the devices that have a step of their own for a field, beside one for all devices."""
        steps = [step for step in self.steps if field in step.fields]
        if all(step.device is not None for step in steps):
            return frozenset()
        return frozenset(step.device for step in steps if step.device is not None)
