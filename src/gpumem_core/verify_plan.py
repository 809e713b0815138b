"""Each plan against what the framework itself says: the rows of a report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from gpumem_core.applying.import_watch import fully_imported
from gpumem_core.make_plans import asked_text, compare, origin_of
from gpumem_core.model.framework import Answer, FrameworkState, Observation
from gpumem_core.model.framework_decision import FrameworkDecision
from gpumem_core.model.outcome import Outcome
from gpumem_core.model.plan import Comparison, Expectation, NotExpressed, RemoveVariable, SetVariable, Step
from gpumem_core.model.report import Row, Status
from gpumem_core.plugins.registry import PluginProblem, Registry
from gpumem_core.sizes import human

Outcomes = Mapping[tuple[str, int], Outcome]


def rows_of(
    decision: FrameworkDecision,
    registry: Registry,
    outcomes: Outcomes | None,
    now: FrameworkState,
    late: frozenset[int] = frozenset(),
) -> list[Row]:
    """Return the rows of one framework.

    Args:
        decision: what was decided.
        registry: to ask the plugin what is in force.
        outcomes: what became of the steps; None for a dry run, where a row is ``planned`` or ``late``.
        now: the state of the framework at this moment.
        late: in a dry run, the positions of the steps that would come too late.
    """
    return _Rows(decision, registry, outcomes, now, late).rows()


class _Rows:
    def __init__(
        self,
        decision: FrameworkDecision,
        registry: Registry,
        outcomes: Outcomes | None,
        now: FrameworkState,
        late: frozenset[int],
    ) -> None:
        self.decision = decision
        self.name = decision.name
        self.plan = decision.plan
        self.outcomes = outcomes
        self.now = now
        self.late = late
        self.problem = ""
        self.observations: tuple[Observation, ...] = ()
        module = fully_imported(self.name)
        if module is not None and outcomes is not None:
            try:
                self.observations = registry.observe(self.name, module)
            except PluginProblem as problem:
                self.problem = str(problem)

    def rows(self) -> list[Row]:
        return [self.row(field, device) for field, device in self.keys()]

    def keys(self) -> list[tuple[str, int | None]]:
        """Return what there is a row for: per device where the plan differs by device, else one for all."""
        found: dict[tuple[str, int | None], None] = {}
        for item in self.plan.not_expressed:
            found[item.field, item.device] = None
        for expectation in self.plan.expectations:
            found[expectation.field, expectation.device] = None
        for step in self.plan.steps:
            for field in step.fields:
                if step.device is not None or not any(f == field for f, _device in found):
                    found[field, step.device] = None
        order = ("limit", "preallocate", "allocator", "visible")
        rank = {field: number for number, field in enumerate(order)}
        return sorted(found, key=lambda key: (rank.get(key[0], len(order)), key[0], -1 if key[1] is None else key[1]))

    def row(self, field: str, device: int | None) -> Row:
        refused = [i for i in self.plan.not_expressed if i.field == field and i.device in (None, device)]
        steps = self.plan.deciding(field, device)
        expected = next((e for e in self.plan.expectations if (e.field, e.device) == (field, device)), None)
        seen = next((o for o in self.observations if (o.field, o.device) == (field, device)), None)
        state, why = self.verdict(refused, steps, expected, seen)
        shown = field
        if field == "limit":
            budgets = [self.decision.budgets.of(device)] if device is not None else self.decision.budgets.every()
            shown = next((budget.limit.field for budget in budgets if budget.limit is not None), "cap")
        asked = asked_text(self.decision, field, device).split(" / ")
        first = steps[0][1] if steps else None
        notes = [step.note for _position, step in steps if step.note]
        if why or notes:
            why = "; ".join(dict.fromkeys(text for text in (why, *notes) if text))
        return Row(
            framework=self.name,
            device=device,
            field=shown,
            asked=" / ".join(part.removeprefix(f"{shown}=") for part in asked),
            set="; ".join(dict.fromkeys(str(step.action) for _position, step in steps)) or None,
            in_force=seen.value if seen else None,
            state=state,
            origin=self.origin(field, device, refused, first),
            scope=first.scope.value if first else None,
            strength=first.strength.value if first else None,
            why=why,
        )

    def origin(self, field: str, device: int | None, refused: Sequence[NotExpressed], step: Step | None) -> str:
        """Return where the field was declared; a step may express several fields from several places."""
        declared = origin_of(self.decision, field, device)
        if declared is not None:
            return str(declared)
        if step is not None:
            return str(step.because)
        return str(refused[0].origin) if refused else ""

    def verdict(
        self,
        refused: Sequence[NotExpressed],
        steps: Sequence[tuple[int, Step]],
        expected: Expectation | None,
        seen: Observation | None,
    ) -> tuple[Status, str]:
        if not self.decision.installed:
            return "not_applicable", f"{self.name} is not installed here"
        if not self.now.applicable or not self.decision.state.applicable:
            return "not_applicable", self.now.why_not or self.decision.state.why_not
        if refused and (not steps or expected is None):  # a step may serve the other devices, or another field
            return ("pending" if refused[0].waits else "not_expressed"), refused[0].reason
        if self.outcomes is None:
            return ("late" if any(position in self.late for position, _step in steps) else "planned"), ""
        outcomes = [o for position, _step in steps if (o := self.outcomes.get((self.name, position)))]
        for status in ("failed", "late", "undone"):
            bad = next((o for o in outcomes if o.status == status), None)
            if bad:
                return ("late" if status == "late" else "failed"), bad.note
        changed = self.changed_variable(steps)
        if changed:
            return "differs", changed
        if self.problem:
            return "unknown", self.problem
        return self.compared(outcomes, expected, seen)

    def changed_variable(self, steps: Sequence[tuple[int, Step]]) -> str:
        """Return a sentence if somebody changed a variable before the framework read it."""
        if self.now.started is not Answer.NO:
            return ""  # the framework has read it; what it made of it is compared instead
        for _position, step in steps:
            if step.reasserted or not isinstance(step.action, SetVariable | RemoveVariable):
                continue
            value = step.action.value if isinstance(step.action, SetVariable) else None
            current = os.environ.get(step.action.name)
            if current != value:
                name = step.action.name
                is_now = "was removed" if current is None else f"is {current!r}"
                was = "removed" if value is None else f"set to {value!r}"
                return f"{name} was {was} and {is_now} now: somebody changed it since"
        return ""

    def compared(
        self, outcomes: Sequence[Outcome], expected: Expectation | None, seen: Observation | None
    ) -> tuple[Status, str]:
        waiting = next((o.note for o in outcomes if o.status == "pending"), "")
        if expected is None:
            if waiting:
                return "pending", waiting
            if self.now.imported is not Answer.YES:
                return "pending", f"until {self.name} is imported"
            if self.now.started is not Answer.YES:
                return "pending", f"until {self.name} starts"
            return "unknown", f"{self.name} does not report this"
        if seen is None or seen.value is None:
            why = (seen.why if seen else "") or waiting
            if self.now.started is Answer.YES and not waiting:
                return "unknown", why or f"{self.name} does not report this"
            return (
                "pending",
                why or f"until {self.name} {'starts' if self.now.imported is Answer.YES else 'is imported'}",
            )
        if not compare(expected, seen):
            if waiting and self.now.started is not Answer.YES:
                return "pending", waiting
            unit = f" {expected.unit}" if expected.unit else ""
            return "differs", f"expected {expected.value}{unit}, but {seen.source} says {seen.value}{unit}"
        limit = expected.value if expected.comparison is Comparison.LIMIT else None
        if isinstance(limit, int) and seen.held is not None and seen.held > limit:
            return "exceeded", f"{human(seen.held)} were held already when the limit of {human(limit)} was set"
        return "in_force", seen.source


def problem_rows(problems: Sequence[PluginProblem]) -> list[Row]:
    """Return a row for each plugin that failed."""
    return [
        Row(problem.name, None, "plugin", "", None, None, "failed", problem.distribution, why=str(problem))
        for problem in problems
    ]
