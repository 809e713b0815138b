"""Pieces of a plan, and what the translation of each field needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpumem.plugin import (
    Answer,
    Budget,
    Budgets,
    Deadline,
    Expectation,
    FrameworkSettings,
    FrameworkState,
    Moment,
    NotExpressed,
    Origin,
    RemoveVariable,
    Scope,
    SetVariable,
    Step,
    Strength,
)
from gpumem_jax import variables
from gpumem_jax.describe import NAME
from gpumem_jax.variables import UserVariables


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a plan.

    Attributes:
        steps: variables to set or remove.
        expectations: what JAX will report.
        not_expressed: what cannot be expressed.
        notes: remarks for the report.
        options: the same, as options of JAX's GPU client, for the times when variables come too late or are beaten.
    """

    steps: tuple[Step, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    not_expressed: tuple[NotExpressed, ...] = ()
    notes: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)

    def __add__(self, other: Part) -> Part:
        """Join two parts, in this order."""
        return Part(
            self.steps + other.steps,
            self.expectations + other.expectations,
            self.not_expressed + other.not_expressed,
            self.notes + other.notes,
            {**self.options, **other.options},
        )


def refused(field_name: str, reason: str, origin: Origin, *, device: int | None = None, asked: str = "") -> Part:
    """Return the part that says that a field is not expressed."""
    return Part(not_expressed=(NotExpressed(NAME, field_name, reason, origin, device, asked),))


def variable_step(
    action: SetVariable | RemoveVariable, fields: tuple[str, ...], because: Origin, strength: Strength, note: str = ""
) -> Step:
    """Return a step that changes a variable. JAX reads it when it discovers its backends, not at import."""
    return Step(
        action=action,
        fields=fields,
        because=because,
        moment=Moment.NOW,
        deadline=Deadline.START,
        scope=Scope.PROCESS,
        strength=strength,
        note=note,
    )


@dataclass(frozen=True, slots=True)
class Situation:
    """The arguments of `gpumem_plan`, and what they come to.

    Attributes:
        settings: the resolved settings.
        budgets: what JAX may hold per device.
        state: in which state JAX is.
        environ: the environment without what gpumem wrote.
        user: what the user's own variables say.
    """

    settings: FrameworkSettings
    budgets: Budgets
    state: FrameworkState
    environ: Mapping[str, str]
    user: UserVariables

    @classmethod
    def of(
        cls, settings: FrameworkSettings, budgets: Budgets, state: FrameworkState, environ: Mapping[str, str]
    ) -> Situation:
        """Read the user's variables."""
        return cls(settings, budgets, state, environ, variables.read(environ))

    @property
    def seen(self) -> tuple[Budget, ...]:
        """The budgets of the devices that JAX sees."""
        visible = self.settings.visible.value if self.settings.visible else "all"
        if not isinstance(visible, tuple):
            return self.budgets.every()
        return tuple(dict.fromkeys(self.budgets.of(ordinal) for ordinal in visible))

    @property
    def started(self) -> bool:
        """Whether a GPU client exists, so that nothing can be changed any more."""
        return self.state.started is Answer.YES

    @property
    def frozen(self) -> bool:
        """Whether JAX has read its variables but made no GPU client yet."""
        return bool(self.state.details.get("frozen")) and not self.started

    @property
    def driver_runs(self) -> bool:
        """Whether CUDA is initialised, so that the totals are the driver's own."""
        return bool(self.state.details.get("driver_runs"))

    @property
    def overlay(self) -> frozenset[str]:
        """The options of the client that the user set in a way that beats the variables."""
        listed = self.state.details.get("overlay")
        configured = {str(name) for name in listed} if isinstance(listed, list | tuple) else set()
        return frozenset(configured | self.user.create_options.keys())
