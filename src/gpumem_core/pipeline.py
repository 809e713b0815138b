"""The two passes: everything is checked before the first change, then the plans are carried out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpumem_core import state
from gpumem_core.applying.announce import announce
from gpumem_core.applying.apply_plan import apply_decision
from gpumem_core.applying.import_watch import fully_imported
from gpumem_core.applying.ledger import Ledger, without_plugin
from gpumem_core.applying.schedule import closed
from gpumem_core.applying.variables import VariableJournal
from gpumem_core.build_report import build_report
from gpumem_core.decide_policy import Decision, decide, is_installed, without_suggestions
from gpumem_core.declarations.arguments import read_suggestions
from gpumem_core.declarations.environment import read_environment
from gpumem_core.declarations.files import read_files
from gpumem_core.devices.assumed import VARIABLE, AssumedDevicesError
from gpumem_core.devices.probe import known_devices
from gpumem_core.errors import GpumemError, LateInitialisationError, PluginError, UnsupportedPolicyError
from gpumem_core.make_plans import (
    check_conflicts,
    dropped_steps,
    late_positions,
    late_step,
    not_held,
)
from gpumem_core.model.declaration import Declared
from gpumem_core.model.device import Device
from gpumem_core.model.fault import Fault
from gpumem_core.model.framework import Answer
from gpumem_core.model.framework_decision import FrameworkDecision
from gpumem_core.model.late import LateStep
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.outcome import Outcome
from gpumem_core.model.plan import RuntimeCall
from gpumem_core.model.report import Report, Row
from gpumem_core.plugins.registry import PluginProblem
from gpumem_core.resolve_policy import LIMIT
from gpumem_core.resolve_policy import decide as decide_fields
from gpumem_core.sizes import MIB, Size
from gpumem_core.verify_plan import rows_of

__all__ = [
    "Decision",
    "base_environment",
    "carry_out",
    "check",
    "checked",
    "collect",
    "decide",
    "explain_declared",
    "is_installed",
    "reconsider",
    "warn",
]

SUSPICIOUSLY_SMALL = 64 * MIB


def base_environment() -> dict[str, str]:
    """Return the environment without what gpumem wrote in this process."""
    ledger = state.current().ledger
    return ledger.journal.base() if ledger else dict(os.environ)


def collect(arguments: Declared, environ: Mapping[str, str]) -> Declared:
    """Read every source but the frameworks' own. Faults are kept: `decide` raises them together with its own."""
    # Among equals the first wins: the flags of a command line are as strong as variables and stand before them.
    declared = arguments + read_environment(environ) + read_files(environ) + read_suggestions()
    faults = list(declared.faults)
    if environ.get(VARIABLE, "").strip():
        try:
            known_devices(environ)
        except AssumedDevicesError as error:
            faults.append(Fault(VARIABLE, Origin(Rank.ENVIRONMENT, f"environment {VARIABLE}"), str(error)))
    small = tuple(
        ("GM101", f"{item.key} ({item.origin}) was read as {item.value.bytes} bytes")
        for item in declared.declarations
        if isinstance(item.value, Size) and item.value.bytes is not None and item.value.bytes < SUSPICIOUSLY_SMALL
    )
    return replace(declared, faults=tuple(faults), warnings=declared.warnings + small)


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
    errors += [step for item, step in _dropped(installed) if item.settings.on_late.value == "error"]
    if errors:
        raise LateInitialisationError(tuple(errors))
    return {name: positions for name, positions in late.items() if positions}


def _dropped(installed: Sequence[FrameworkDecision]) -> list[tuple[FrameworkDecision, LateStep]]:
    """Return what an earlier `configure` put in force and the new decision drops too late."""
    process = state.current()
    if process.decision is None or process.ledger is None:
        return []
    earlier = {item.name: item for item in process.decision.frameworks if item.installed}
    done = {key for key, outcome in process.ledger.outcomes.items() if outcome.status in {"applied", "already"}}
    found = []
    for item in installed:
        if item.name in earlier:
            positions = frozenset(position for name, position in done if name == item.name)
            found += [(item, step) for step in dropped_steps(earlier[item.name], item, positions)]
    return found


def checked(
    decision: Decision, declared: Declared, environ: Mapping[str, str]
) -> tuple[Decision, dict[str, tuple[int, ...]]]:
    """Check a decision; where only suggestions are in the way, decide anew without them.

    Raises:
        PolicyConflictError: and the other errors of `check`.
    """
    try:
        return decision, check(decision)
    except (UnsupportedPolicyError, LateInitialisationError) as error:
        remaining = without_suggestions(declared, error)
        if remaining is None:
            raise
    return checked(decide(remaining, environ, decision.registry), remaining, environ)


def warn(decision: Decision, late: Mapping[str, tuple[int, ...]]) -> None:
    """Give the warnings that belong to a decision; they come before the first change."""
    for code, text in decision.warnings:
        announce(code, text, decision.ignored)
    for problem in decision.problems:
        announce("GM205", f"{problem}; the other frameworks are not affected", decision.ignored)
    for item, dropped in _dropped([item for item in decision.frameworks if item.installed]):
        if item.settings.on_late.value == "warn":
            announce("GM201", str(dropped), decision.ignored)
    for item in decision.frameworks:
        for entry in not_held(item, "warn", imported_or_named=True):
            announce("GM202", str(entry), decision.ignored)
        if item.settings.on_late.value == "warn":
            for position in late.get(item.name, ()):
                announce("GM201", str(late_step(item, position)), decision.ignored)
        if item.installed:
            _warn_overruled(decision, item)
            for step in item.plan.steps if item.settings.on_late.value != "ignore" else ():
                if closed(step, item.state) is Answer.UNKNOWN:
                    text = (
                        f"{item.name}: whether {step.action} ({step.because}) is in time is unknown "
                        f"({item.state.evidence})"
                    )
                    announce("GM201", text, decision.ignored)
    for name, distribution in decision.registry.missing.items() if decision.declared else ():
        if fully_imported(name):
            announce("GM204", without_plugin(name, distribution), decision.ignored)


def _warn_overruled(decision: Decision, item: FrameworkDecision) -> None:
    """Tell that a setting the user made in the framework's own way is beaten by a stronger source."""
    # What was set through the framework's API the plugin knows better: it may keep it, and notes what it does.
    native = [
        d
        for d in decision.declarations
        if d.framework == item.name and d.origin.rank == Rank.NATIVE and d.origin.text.startswith("environment ")
    ]
    for declaration in native:
        fields = LIMIT if declaration.field in LIMIT else (declaration.field,)
        device = None if declaration.device is None else Device(int(declaration.device))
        stronger = decide_fields(decision.declarations, fields, item.name, device)
        if stronger[0].origin.rank < Rank.NATIVE and all(d.value != declaration.value for d in stronger):
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
    problems = apply_decision(decision.frameworks, ledger)
    for name, distribution in decision.registry.missing.items() if decision.declared else ():
        if not fully_imported(name):
            ledger.warn_when_imported(name, "GM204", without_plugin(name, distribution))
    for item in decision.frameworks:
        if not item.settings.named and item.state.imported is not Answer.YES:
            for entry in not_held(item, "error", imported_or_named=True):
                ledger.warn_when_imported(item.name, "GM202", str(entry))
    # Last, because this may raise: the other plans are in force by now.
    named = {item.name for item in decision.frameworks if item.settings.named}
    for problem in problems:
        if problem.name in named:
            message = f"{problem}; its other changes were taken back, those for other frameworks are in force"
            raise PluginError(message)
        announce("GM203", f"{problem}; its other changes were taken back", decision.ignored)


def read_already() -> tuple[str, ...]:
    """Return a sentence for each framework that has read variables of ours and keeps what they said."""
    process = state.current()
    if process.decision is None or process.ledger is None:
        return ()
    sentences = []
    environ = base_environment()
    for item in process.decision.frameworks:
        try:
            now = process.decision.registry.state(item.name, environ)
        except PluginProblem:
            continue  # its failure stands in the report; nothing can be said about what it has read
        names = [
            step.action.name
            for position, step in enumerate(item.plan.steps)
            if not isinstance(step.action, RuntimeCall)
            and (item.name, position) in process.ledger.outcomes
            and step.action.name in process.ledger.journal.written
            and closed(step, now) is Answer.YES
        ]
        if names:
            sentences.append(f"{item.name} has started with {', '.join(names)} and keeps it until the process ends")
    return tuple(sentences)


def reconsider() -> None:
    """Resolve anew after a suggestion came in. A framework for which it is too late keeps what it has.

    Never raises: a library that suggests something must not fail because of it.
    """
    process = state.current()
    with state.lock():
        before = process.decision
        if process.arguments is None or before is None:
            return
        environ = base_environment()
        try:
            decision = decide(collect(process.arguments, environ), environ)
            check_conflicts(item.plan for item in decision.frameworks if item.installed)
        except GpumemError as error:
            announce("GM202", f"a suggestion cannot be followed: {error}", before.ignored, deferred=True)
            return
        if _same_plans(before, decision):
            return
        kept = {item.name: item for item in before.frameworks}
        frameworks = tuple(
            replace(kept[item.name], state=item.state) if item.name in kept and late_positions(item) else item
            for item in decision.frameworks
        )
        carry_out(replace(decision, frameworks=frameworks), {})


def _same_plans(first: Decision, second: Decision) -> bool:
    return [item.plan for item in first.frameworks] == [item.plan for item in second.frameworks]


def explain_declared(arguments: Declared, environ: Mapping[str, str]) -> Report:
    """Return the dry run of what `arguments` and the other sources declare."""
    decision = decide(collect(arguments, environ), environ)
    rows: list[Row] = []
    for item in decision.frameworks:
        why = f"it would come too late: {item.state.evidence}"
        found = rows_of(item, decision.registry, None, item.state, late=frozenset(late_positions(item)))
        rows += [replace(row, why=why) if row.state == "late" else row for row in found]
    return build_report(decision, rows)
