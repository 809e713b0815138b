"""The second pass: carry the plans out."""

from __future__ import annotations

from collections.abc import Sequence

from gpumem_core.applying.import_watch import fully_imported
from gpumem_core.applying.ledger import Ledger
from gpumem_core.applying.schedule import closed
from gpumem_core.model.framework import Answer
from gpumem_core.model.framework_decision import FrameworkDecision
from gpumem_core.model.outcome import Outcome
from gpumem_core.model.plan import Plan, RemoveVariable, RuntimeCall, SetVariable, Step
from gpumem_core.plugins.registry import PluginProblem


def apply_decision(frameworks: Sequence[FrameworkDecision], ledger: Ledger) -> tuple[PluginProblem, ...]:
    """Carry out the plans of all installed frameworks; return the problems of plugins that failed.

    A plugin that fails loses its own changes only.
    """
    installed = [decision for decision in frameworks if decision.installed]
    problems: list[PluginProblem] = []
    for decision in installed:
        problem = _apply(decision, ledger)
        if problem is not None:
            problems.append(problem)
            others = {name for other in installed if other is not decision for name in _variables(other.plan)}
            ledger.withdraw(decision.name, frozenset(_variables(decision.plan) - others))
    return tuple(problems)


def _variables(plan: Plan) -> set[str]:
    return {step.action.name for step in plan.steps if not isinstance(step.action, RuntimeCall)}


def _apply(decision: FrameworkDecision, ledger: Ledger) -> PluginProblem | None:
    """Carry out one plan; return the problem where the plugin failed."""
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
        return None
    module = fully_imported(name)
    if module is None:
        ledger.wait_for_import(name, calls)
        return None
    for index, (position, step) in enumerate(calls):
        try:
            ledger.call(name, position, step, module)
        except PluginProblem as problem:
            for other, _step in enumerate(decision.plan.steps):
                ledger.record(name, other, Outcome("undone", f"because another step failed: {problem}"))
            for later, _step in calls[index:]:
                ledger.record(name, later, Outcome("failed", str(problem)))
            return problem
    return None
