"""The second pass: carry the plans out."""

from __future__ import annotations

from collections.abc import Sequence

from gpumem_core.applying.announce import announce
from gpumem_core.applying.import_watch import fully_imported
from gpumem_core.applying.ledger import Ledger
from gpumem_core.applying.schedule import closed
from gpumem_core.model.framework import Answer
from gpumem_core.model.framework_decision import FrameworkDecision
from gpumem_core.model.outcome import Outcome
from gpumem_core.model.plan import RemoveVariable, RuntimeCall, SetVariable, Step
from gpumem_core.plugins.registry import PluginProblem


def apply_decision(frameworks: Sequence[FrameworkDecision], ledger: Ledger) -> None:
    """Carry out the plans of all installed frameworks. A plugin that fails loses its own changes only."""
    for decision in frameworks:
        if decision.installed:
            _apply(decision, ledger)


def _apply(decision: FrameworkDecision, ledger: Ledger) -> None:
    name = decision.name
    calls: list[tuple[int, Step]] = []
    for position, step in enumerate(decision.plan.steps):
        if (name, position) in ledger.outcomes:  # late, and left out
            continue
        # Its moment has passed, so it was checked that all it sets is in force already. A variable is written
        # all the same: children read it.
        passed = closed(step, decision.state) is Answer.YES
        done = Outcome("already", "in force before") if passed else Outcome("applied")
        if isinstance(step.action, SetVariable):
            ledger.journal.set(step.action.name, step.action.value)
            ledger.record(name, position, done)
        elif isinstance(step.action, RemoveVariable):
            ledger.journal.set(step.action.name, None)
            ledger.record(name, position, done)
        elif passed:
            ledger.record(name, position, done)
        else:
            calls.append((position, step))
    if not calls:
        return
    module = fully_imported(name)
    if module is None:
        ledger.wait_for_import(name, calls)
        return
    for index, (position, step) in enumerate(calls):
        try:
            ledger.call(name, position, step, module)
        except PluginProblem as problem:
            written = frozenset(
                item.action.name for item in decision.plan.steps if not isinstance(item.action, RuntimeCall)
            )
            ledger.withdraw(name, written)
            for other, _step in enumerate(decision.plan.steps):
                ledger.record(name, other, Outcome("undone", f"because another step failed: {problem}"))
            for later, _step in calls[index:]:
                ledger.record(name, later, Outcome("failed", str(problem)))
            announce("GM203", f"{problem}; its other changes were taken back", ledger.ignored)
            return
