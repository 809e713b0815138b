"""From declarations to a decision, and from a decision to changes. Two passes: everything is checked first."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from gpumem_core import state
from gpumem_core.applying.announce import announce
from gpumem_core.applying.apply_plan import apply_decision
from gpumem_core.applying.import_watch import fully_imported
from gpumem_core.applying.ledger import Ledger, without_plugin
from gpumem_core.applying.variables import VariableJournal
from gpumem_core.declarations.arguments import read_suggestions
from gpumem_core.declarations.environment import read_environment
from gpumem_core.declarations.files import read_files
from gpumem_core.devices.assumed import VARIABLE, AssumedDevicesError
from gpumem_core.devices.probe import known_devices, probe_devices
from gpumem_core.divide_budget import BudgetDivider, impossible_bounds, taken_ahead
from gpumem_core.errors import LateInitialisationError, PolicyError, UnsupportedPolicyError
from gpumem_core.make_plans import (
    FrameworkDecision,
    check_conflicts,
    closed,
    late_positions,
    late_step,
    not_held,
    with_missing,
)
from gpumem_core.model.declaration import UNLIMITED, Declaration, Declared, Value
from gpumem_core.model.device import Devices
from gpumem_core.model.fault import Fault
from gpumem_core.model.framework import Answer, Framework, FrameworkState, NativeFault, NativeSetting
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.outcome import Outcome
from gpumem_core.model.plan import Plan, RuntimeCall
from gpumem_core.plugins.registry import PluginProblem, Registry
from gpumem_core.resolve_policy import (
    ambiguous_device_keys,
    faults_of,
    settle,
    unmatched_device_keys,
    with_canonical_names,
)
from gpumem_core.sizes import MIB, Size

SUSPICIOUSLY_SMALL = 64 * MIB


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


def base_environment() -> dict[str, str]:
    """Return the environment without what gpumem wrote in this process."""
    ledger = state.current().ledger
    return ledger.journal.base() if ledger else dict(os.environ)


def collect(arguments: Declared, environ: Mapping[str, str]) -> Declared:
    """Read every source but the frameworks' own.

    Raises:
        PolicyError: with the faults of all sources.
    """
    # Among equals the first wins: the flags of a command line are as strong as variables and stand before them.
    declared = arguments + read_environment(environ) + read_files(environ) + read_suggestions()
    faults = list(declared.faults)
    if environ.get(VARIABLE, "").strip():
        try:
            known_devices(environ)
        except AssumedDevicesError as error:
            faults.append(Fault(VARIABLE, Origin(Rank.ENVIRONMENT, f"environment {VARIABLE}"), str(error)))
    if faults:
        raise PolicyError(tuple(faults))
    small = tuple(
        ("GM101", f"{item.key} ({item.origin}) was read as {item.value.bytes} bytes")
        for item in declared.declarations
        if isinstance(item.value, Size) and item.value.bytes is not None and item.value.bytes < SUSPICIOUSLY_SMALL
    )
    return replace(declared, warnings=declared.warnings + small)


def decide(declared: Declared, environ: Mapping[str, str]) -> Decision:
    """Resolve the policy and make a plan for every framework that has a plugin. Changes nothing.

    Raises:
        PolicyError: for faults that only show when all sources are put together.
    """
    return _Deciding(declared, environ).decision()


class _Deciding:
    def __init__(self, declared: Declared, environ: Mapping[str, str]) -> None:
        self.declared = declared
        self.environ = environ
        self.registry = Registry(state.current().registered)
        self.problems: list[PluginProblem] = list(self.registry.problems)
        self.notes: list[str] = list(declared.notes)
        self.warnings: list[tuple[str, str]] = list(declared.warnings)
        self.faulty: dict[str, tuple[NativeFault, ...]] = {}

    def decision(self) -> Decision:
        if not self.declared.declarations:
            # Nobody declares anything: nothing is applied and nothing is said.
            return Decision(
                self.registry, (), known_devices(self.environ), (), tuple(self.notes), warnings=tuple(self.warnings)
            )
        aliases = {
            name: plugin.name
            for plugin in self.registry.plugins.values()
            for name in (plugin.name, *plugin.framework.aliases)
        }
        declarations, faults = with_canonical_names(self.declared.declarations, aliases, self.registry.missing)
        self.raise_for_named_problems(declarations)
        if faults:
            raise PolicyError(faults)
        states = self.states()
        declarations += self.native(states)
        devices = self.devices(declarations, states)
        self.check(declarations, devices, states)
        frameworks = tuple(self.one(name, declarations, devices, states[name]) for name in states)
        ahead = taken_ahead({f.name: f.budgets for f in frameworks if f.installed and not f.settings.hidden})
        self.warnings += [("GM106", text) for text in ahead]
        ignored = min((d for d in declarations if d.field == "ignore"), key=lambda d: d.origin.rank, default=None)
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

    def raise_for_named_problems(self, declarations: Sequence[Declaration]) -> None:
        named = {item.framework for item in declarations if item.framework}
        for problem in self.problems:
            if problem.name in named:
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
        if any(
            item.framework == problem.name and item.origin.rank != Rank.NATIVE for item in self.declared.declarations
        ):
            raise plugin_error(problem)
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

    def warn_of_faults(self, name: str, plan: Plan) -> None:
        """Tell of the user's variables that the framework cannot read, unless the plan replaces them anyway."""
        replaced = {step.action.name for step in plan.steps if not isinstance(step.action, RuntimeCall)}
        for fault in self.faulty.get(name, ()):
            if fault.variable not in replaced and is_installed(name):
                self.warnings.append(("GM105", f"{name}: {fault.variable}={fault.text!r} {fault.problem}"))

    def devices(self, declarations: Sequence[Declaration], states: Mapping[str, FrameworkState]) -> Devices:
        """Ask for the devices only if a plan needs them."""
        frameworks = [self.registry.plugins[name].framework for name in states if is_installed(name)]
        if devices_needed(declarations, frameworks):
            return probe_devices(self.environ)
        return known_devices(self.environ)

    def check(
        self, declarations: Sequence[Declaration], devices: Devices, states: Mapping[str, FrameworkState]
    ) -> None:
        faults: list[Fault] = list(ambiguous_device_keys(declarations, devices.found))
        for name in states:
            if is_installed(name):
                faults += faults_of(declarations, settle(declarations, name), devices)
        for key, item in unmatched_device_keys(declarations, devices.found).items():
            if devices.driver is False or (not devices.complete and key.isdigit()):
                continue
            if not key.isdigit() and (devices.ambiguous or not devices.complete or _without_uuids(devices)):
                why = devices.ambiguous or devices.why or "which of the equal cards an ordinal means is uncertain"
                problem = f"the card cannot be matched to an ordinal before CUDA runs: {why}"
                accepted = (
                    "CUDA_DEVICE_ORDER=PCI_BUS_ID or UUIDs in CUDA_VISIBLE_DEVICES, set before the start; "
                    "or ordinals as keys"
                )
                faults.append(Fault(f"devices.{key}", item.origin, problem, accepted))
                continue
            self.notes.append(f"devices.{key} ({item.origin}) means no device that this process sees")
        if faults:
            raise PolicyError(tuple(dict.fromkeys(faults)))

    def one(
        self, name: str, declarations: tuple[Declaration, ...], devices: Devices, found: FrameworkState
    ) -> FrameworkDecision:
        settings = settle(declarations, name)
        divider = BudgetDivider(declarations, devices, state.current().free_memory)
        budgets, missing = divider.divide(name)
        impossible = impossible_bounds(name, budgets)
        if impossible and is_installed(name):
            origin = next(b.limit.origin for b in budgets.every() if b.limit)
            raise PolicyError(tuple(Fault("limit", origin, text) for text in impossible))
        try:
            plan = self.registry.plan(name, settings, budgets, found, self.environ)
        except PluginProblem as problem:
            self.problem(problem)
            plan = Plan(name)
        self.warn_of_faults(name, plan)
        self.notes += [f"{name}: {note}" for note in plan.notes if is_installed(name)]
        if devices.ambiguous:
            self.notes.append(devices.ambiguous)
        plan = with_missing(plan, missing)
        return FrameworkDecision(name, is_installed(name), settings, budgets, found, plan)


def plugin_error(problem: PluginProblem) -> Exception:
    """Return the public error for a plugin problem."""
    from gpumem_core.errors import PluginError

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


def check(decision: Decision) -> dict[str, tuple[int, ...]]:
    """Check all plans together; return the late positions that are left out (on_late is not "error").

    Raises:
        PolicyConflictError: when two plans set one variable differently.
        UnsupportedPolicyError: when a limit cannot be held.
        LateInitialisationError: with every step that is too late.
    """
    installed = [item for item in decision.frameworks if item.installed]
    check_conflicts(item.plan for item in installed)
    refused = [
        entry
        for item in installed
        for entry in not_held(item, "error", item.settings.named or item.state.imported is Answer.YES)
    ]
    if refused:
        raise UnsupportedPolicyError(tuple(refused))
    late = {item.name: late_positions(item) for item in installed}
    errors = [
        late_step(item, position)
        for item in installed
        if item.settings.on_late.value == "error"
        for position in late[item.name]
    ]
    if errors:
        raise LateInitialisationError(tuple(errors))
    return {name: positions for name, positions in late.items() if positions}


def warn(decision: Decision, late: Mapping[str, tuple[int, ...]]) -> None:
    """Give the warnings that belong to a decision; they come before the first change."""
    for code, text in decision.warnings:
        announce(code, text, decision.ignored)
    for problem in decision.problems:
        announce("GM205", f"{problem}; the other frameworks are not affected", decision.ignored)
    for item in decision.frameworks:
        for entry in not_held(item, "warn", imported_or_named=True):
            announce("GM202", str(entry), decision.ignored)
        if item.settings.on_late.value == "warn":
            for position in late.get(item.name, ()):
                announce("GM201", str(late_step(item, position)), decision.ignored)
        if item.installed:
            _warn_overruled(decision, item)
            for step in item.plan.steps:
                if closed(step, item.state) is Answer.UNKNOWN:
                    text = (
                        f"{item.name}: whether {step.action} ({step.because}) is in time is unknown "
                        f"({item.state.evidence})"
                    )
                    announce("GM201", text, decision.ignored)
    for name, distribution in decision.registry.missing.items():
        if fully_imported(name):
            announce("GM204", without_plugin(name, distribution), decision.ignored)


def _warn_overruled(decision: Decision, item: FrameworkDecision) -> None:
    """Tell that a setting the user made in the framework's own way is beaten by a stronger source."""
    native = [d for d in decision.declarations if d.framework == item.name and d.origin.rank == Rank.NATIVE]
    for declaration in native:
        pair = {"cap", "fraction"} if declaration.field in {"cap", "fraction"} else {declaration.field}
        stronger = [
            d
            for d in decision.declarations
            if d.field in pair and d.origin.rank < Rank.NATIVE and d.framework in (None, item.name)
        ]
        if stronger and all(d.value != declaration.value for d in stronger):
            text = (
                f"{item.name}: {declaration.field}={declaration.value} ({declaration.origin}) is overruled by "
                f"{stronger[0].field}={stronger[0].value} ({stronger[0].origin})"
            )
            announce("GM104", text, decision.ignored)


def carry_out(decision: Decision, late: Mapping[str, tuple[int, ...]]) -> None:
    """Restore what an earlier `configure` wrote and apply the new decision."""
    process = state.current()
    journal = process.ledger.journal if process.ledger else VariableJournal()
    if process.ledger is not None:
        process.ledger.close()
        journal.restore()
    ledger = Ledger(decision.registry, journal, decision.ignored)
    process.ledger = ledger
    process.decision = decision
    for item in decision.frameworks:
        for position in late.get(item.name, ()):
            ledger.record(item.name, position, Outcome("late", "it came too late and was left out"))
    apply_decision(decision.frameworks, ledger)
    for name, distribution in decision.registry.missing.items():
        if not fully_imported(name):
            ledger.tell_when_imported(name, distribution)


def reconsider() -> None:
    """Resolve anew after a suggestion came in; what is too late by now is left out without a word.

    Never raises: a library that suggests something must not fail because of it.
    """
    process = state.current()
    with state.lock():
        if process.arguments is None:
            return
        environ = base_environment()
        try:
            decision = decide(collect(process.arguments, environ), environ)
            late = {item.name: late_positions(item) for item in decision.frameworks if item.installed}
            before = process.decision
            if before is not None and _same_plans(before, decision):
                return
            if any(late.values()):
                return
            carry_out(decision, {})
        except (PolicyError, LateInitialisationError, UnsupportedPolicyError, PluginProblem) as error:
            announce("GM202", f"a suggestion cannot be followed: {error}", deferred=True)


def _same_plans(first: Decision, second: Decision) -> bool:
    return [item.plan for item in first.frameworks] == [item.plan for item in second.frameworks]
