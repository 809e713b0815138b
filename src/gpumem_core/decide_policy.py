"""From declarations to a decision: the policy resolved, and a plan for every framework. Changes nothing."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from gpumem_core import state
from gpumem_core.devices.probe import known_devices, probe_devices
from gpumem_core.divide_budget import BudgetDivider, beyond_devices, impossible_bounds, taken_ahead
from gpumem_core.errors import LateInitialisationError, PluginError, PolicyError, UnsupportedPolicyError
from gpumem_core.make_plans import with_missing
from gpumem_core.model.declaration import UNLIMITED, Declaration, Declared, Value
from gpumem_core.model.device import Devices
from gpumem_core.model.fault import Fault
from gpumem_core.model.framework import Framework, FrameworkState, NativeFault, NativeSetting
from gpumem_core.model.framework_decision import FrameworkDecision
from gpumem_core.model.late import LateStep
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.plan import NotExpressed, Plan, RuntimeCall
from gpumem_core.plugins.registry import PluginProblem, Registry
from gpumem_core.resolve_policy import (
    ambiguous_device_keys,
    faults_of,
    settle,
    unmatched_device_keys,
    with_canonical_names,
)
from gpumem_core.sizes import Size
from gpumem_core.warnings import CODES


@dataclass(frozen=True, slots=True)
class Decision:
    """Everything that was decided, before anything is changed.

    Attributes:
        registry: the plugins it was made with.
        declarations: every declared setting with canonical names, the user's native ones included.
        devices: the devices as known.
        frameworks: one decision per framework with a plugin.
        notes: remarks for the report.
        problems: plugins that failed.
        warnings: pairs of a code and a text, to be given when the decision is applied.
        ignored: codes of warnings that are not given.
    """

    registry: Registry
    declarations: tuple[Declaration, ...]
    devices: Devices
    frameworks: tuple[FrameworkDecision, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[PluginProblem, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def declared(self) -> bool:
        """Whether anybody but the frameworks' own variables declares anything."""
        return any(item.origin.rank != Rank.NATIVE for item in self.declarations)


def decide(declared: Declared, environ: Mapping[str, str], registry: Registry | None = None) -> Decision:
    """Resolve the policy and make a plan for every framework that has a plugin. Changes nothing.

    Args:
        declared: what all sources declare, with their faults.
        environ: the environment without what gpumem wrote.
        registry: the plugins; None loads them.

    Raises:
        PolicyError: for faults that only show when all sources are put together.
    """
    plugins = registry or Registry(state.current().registered)
    try:
        return _Deciding(declared, environ, plugins).decision()
    except PolicyError as error:
        remaining = without_suggestions(declared, error)
        if remaining is None:
            raise
    return decide(remaining, environ, plugins)


def without_suggestions(
    declared: Declared, error: PolicyError | UnsupportedPolicyError | LateInitialisationError
) -> Declared | None:
    """Leave out the suggestions that an error is about, with a note; None where it is about none.

    What a library would like must not make the application fail.
    """
    if isinstance(error, PolicyError):
        causes: Sequence[Fault | NotExpressed | LateStep] = error.faults
    else:
        causes = error.not_expressed if isinstance(error, UnsupportedPolicyError) else error.late
    suggested = {cause.origin: cause for cause in causes if cause.origin.rank is Rank.SUGGESTION}
    kept = tuple(item for item in declared.declarations if item.origin not in suggested)
    if len(kept) == len(declared.declarations):
        return None
    notes = tuple(f"a suggestion is left out: {cause}" for cause in suggested.values())
    return replace(declared, declarations=kept, notes=declared.notes + notes)


class _Deciding:
    def __init__(self, declared: Declared, environ: Mapping[str, str], registry: Registry) -> None:
        self.declared = declared
        self.environ = environ
        self.registry = registry
        # Asked once: each look searches the path of imports.
        self.installed = frozenset(name for name in registry.plugins if is_installed(name))
        self.problems: list[PluginProblem] = list(self.registry.problems)
        self.notes: list[str] = list(declared.notes)
        self.warnings: list[tuple[str, str]] = list(declared.warnings)
        self.faulty: dict[str, tuple[NativeFault, ...]] = {}

    def every_fault(self, declarations: Sequence[Declaration], unknown: Sequence[Fault]) -> tuple[Fault, ...]:
        """Return the faults of all sources, and those that show when what is readable is put together."""
        faults = [*self.declared.faults, *unknown]
        for name in self.registry.plugins:
            if name not in self.installed:
                continue
            faults += faults_of(declarations, settle(declarations, name), Devices())
        return tuple(dict.fromkeys(faults))

    def decision(self) -> Decision:
        if not self.declared.declarations and not self.declared.faults:
            # Nobody declares anything: nothing is applied and nothing is said.
            return Decision(
                self.registry, (), known_devices(self.environ), (), tuple(self.notes), warnings=tuple(self.warnings)
            )
        for problem in self.problems:
            self.raise_if_named(problem)
        declarations, unknown = with_canonical_names(
            self.declared.declarations, self.registry.aliases, self.registry.missing
        )
        if self.declared.faults or unknown:
            raise PolicyError(self.every_fault(declarations, unknown))
        states = self.states()
        declarations += self.native(states)
        devices = self.devices(declarations, states)
        self.check(declarations, devices, states)
        if devices.driver is False:
            states = {n: replace(found, applicable=False, why_not=devices.why) for n, found in states.items()}
        frameworks = tuple(self.one(name, declarations, devices, states[name]) for name in states)
        ahead = taken_ahead({f.name: f.budgets for f in frameworks if f.installed and not f.settings.hidden})
        self.warnings += [("GM106", text) for text in ahead]
        ignored = min((d for d in declarations if d.field == "ignore"), key=lambda d: d.origin.rank, default=None)
        if ignored and isinstance(ignored.value, tuple):
            strange = [str(code) for code in ignored.value if code not in CODES]
            self.notes += [f"ignore ({ignored.origin}): there is no warning {code}" for code in strange]
        return Decision(
            self.registry,
            declarations,
            devices,
            frameworks,
            tuple(dict.fromkeys(self.notes)),
            tuple(self.problems),
            tuple(self.warnings),
            ignored.value if ignored and isinstance(ignored.value, tuple) else (),  # type: ignore[arg-type]  # its reader returns codes
        )

    def raise_if_named(self, problem: PluginProblem) -> None:
        """Raise where the policy names the framework of a plugin that failed. A suggestion does not name one."""
        for item in self.declared.declarations:
            if item.framework == problem.name and item.origin.rank is not Rank.SUGGESTION:
                raise plugin_error(problem)

    def states(self) -> dict[str, FrameworkState]:
        states: dict[str, FrameworkState] = {}
        for name in self.registry.plugins:
            try:
                states[name] = self.registry.state(name, self.environ)
            except PluginProblem as problem:
                self.problem(problem)
        return states

    def problem(self, problem: PluginProblem) -> None:
        self.raise_if_named(problem)
        self.problems.append(problem)

    def native(self, states: dict[str, FrameworkState]) -> tuple[Declaration, ...]:
        found: list[Declaration] = []
        for name in list(states):
            try:
                reading = self.registry.native(name, self.environ, states[name].versions)
            except PluginProblem as problem:
                self.problem(problem)
                del states[name]
                continue
            found += [_declaration(name, setting) for setting in (*reading.settings, *states[name].settings)]
            self.faulty[name] = reading.faults
        return tuple(found)

    def warn_of_faults(self, name: str, plan: Plan, *, named: bool) -> None:
        """Tell of the user's variables that the framework cannot read, unless the plan replaces them anyway.

        One that costs the framework its GPU, or the process its life, is an error where the policy names the
        framework: what the policy asks of it could not come to be.
        """
        replaced = {step.action.name for step in plan.steps if not isinstance(step.action, RuntimeCall)}
        left = [f for f in self.faulty.get(name, ()) if f.variable not in replaced and name in self.installed]
        fatal = tuple(
            Fault(f"{f.variable}={f.text}", Origin(Rank.NATIVE, f"environment {f.variable}"), f.problem)
            for f in left
            if f.fatal and named
        )
        if fatal:
            raise PolicyError(fatal)
        self.warnings += [("GM105", f"{name}: {fault.variable}={fault.text!r} {fault.problem}") for fault in left]

    def devices(self, declarations: Sequence[Declaration], states: Mapping[str, FrameworkState]) -> Devices:
        """Ask for the devices only if a plan needs them."""
        frameworks = [self.registry.plugins[name].framework for name in states if name in self.installed]
        if devices_needed(declarations, frameworks):
            free = any(isinstance(item.value, Size) and item.value.of == "free" for item in declarations)
            return probe_devices(self.environ, free=free)
        return known_devices(self.environ)

    def check(
        self, declarations: Sequence[Declaration], devices: Devices, states: Mapping[str, FrameworkState]
    ) -> None:
        faults: list[Fault] = list(ambiguous_device_keys(declarations, devices.found))
        for name in states:
            if name in self.installed:
                faults += faults_of(declarations, settle(declarations, name), devices)
        for key, item in unmatched_device_keys(declarations, devices.found).items():
            if devices.driver is False or (not devices.complete and key.isdigit()):
                continue
            if not key.isdigit() and (devices.ambiguous or not devices.complete or _without_uuids(devices)):
                why = devices.ambiguous or devices.why or "which of the equal cards an ordinal means is uncertain"
                problem = f"the card cannot be matched to an ordinal before CUDA runs: {why}"
                if devices.source == "assumed":
                    problem = "assumed devices have no UUIDs"
                accepted = (
                    "CUDA_DEVICE_ORDER=PCI_BUS_ID or UUIDs in CUDA_VISIBLE_DEVICES, set before the start; "
                    "or ordinals as keys"
                )
                faults.append(Fault(f"devices.{key}", item.origin, problem, accepted))
                continue
            self.warnings.append(("GM108", f"devices.{key} ({item.origin}) means no device that this process sees"))
        if faults:
            raise PolicyError(tuple(dict.fromkeys(faults)))

    def one(
        self, name: str, declarations: tuple[Declaration, ...], devices: Devices, found: FrameworkState
    ) -> FrameworkDecision:
        settings = settle(declarations, name)
        divider = BudgetDivider(declarations, devices, state.current().free_memory)
        budgets, missing = divider.divide(name)
        impossible = impossible_bounds(name, budgets)
        if impossible and name in self.installed:
            raise PolicyError(impossible)
        try:
            plan = self.registry.plan(name, settings, budgets, found, self.environ)
        except PluginProblem as problem:
            self.problem(problem)
            plan = Plan(name)
        self.warn_of_faults(name, plan, named=settings.named)
        self.notes += [f"{name}: {note}" for note in plan.notes if name in self.installed]
        if name in self.installed and (strange := self.registry.untested(name, found.versions)):
            self.notes.append(f"{name}: untested with {strange}; it is applied and read back all the same")
        if devices.ambiguous:
            self.notes.append(devices.ambiguous)
        self.notes += beyond_devices(settings, budgets, devices)
        plan = with_missing(plan, missing)
        return FrameworkDecision(name, name in self.installed, settings, budgets, found, plan)


def plugin_error(problem: PluginProblem) -> PluginError:
    """Return the public error for a plugin problem."""
    return PluginError(
        f"{problem}; nothing was changed. The policy names {problem.name}, so it is not left out: "
        f"update or reinstall the plugin, or remove {problem.name} from the policy"
    )


def _without_uuids(devices: Devices) -> bool:
    return any(device.uuid is None for device in devices.found)


def _declaration(framework: str, setting: NativeSetting) -> Declaration:
    device = None if setting.device is None else str(setting.device)
    value = UNLIMITED if setting.value is None else cast("Value", setting.value)  # normalised by the plugin
    if isinstance(value, int) and not isinstance(value, bool) and setting.field in {"cap", "preallocate"}:
        value = Size(bytes=value)
    return Declaration(setting.field, value, Origin(Rank.NATIVE, setting.source), framework, device)


def devices_needed(declarations: Sequence[Declaration], frameworks: Sequence[Framework]) -> bool:
    """Return whether a plan needs totals or UUIDs: only then NVML is opened."""
    for item in declarations:
        if item.origin.rank == Rank.NATIVE:
            continue
        if item.field in {"headroom", "processes_per_device"} or (item.device and not item.device.isdigit()):
            return True
        if item.field == "visible" and isinstance(item.value, tuple):
            return True  # whether the list is everything that the process sees
        share = item.field == "fraction" or (isinstance(item.value, Size) and item.value.percent is not None)
        if isinstance(item.value, Size) and item.value.of == "free":
            return True
        if item.field == "preallocate" and share:
            return True
        if item.field not in {"cap", "fraction"} or item.value is UNLIMITED:
            continue
        for framework in frameworks:
            if item.framework in (None, framework.name) and (framework.limit_unit == "bytes") == share:
                return True
    return False


def is_installed(framework: str) -> bool:
    """Return whether the framework can be imported here; does not import it."""
    if framework in sys.modules:
        return True
    try:
        return importlib.util.find_spec(framework) is not None
    except (ImportError, ValueError):
        return False
