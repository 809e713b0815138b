"""Limits and what is taken ahead, as steps for CuPy. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gpumem.plugin import (
    Answer,
    Budget,
    Budgets,
    Comparison,
    Deadline,
    Expectation,
    FrameworkState,
    Moment,
    NotExpressed,
    Origin,
    Plan,
    Rank,
    RemoveVariable,
    RuntimeCall,
    Scope,
    SetVariable,
    Step,
    Strength,
    human,
)
from gpumem_cupy.describe import LIMIT_VARIABLE, NAME
from gpumem_cupy.rule import Rule, rule_for
from gpumem_cupy.runtime import OWN_WAY, SET_LIMIT, TAKE_AHEAD

_AHEAD = "what is taken ahead on a device is reused by the stream that was current at its first allocation"
_GROWS = "CuPy's pool takes memory on request only"


def refuse_limits(budgets: Budgets, allocator: str) -> Plan:
    """Return what cannot be held because CuPy allocates through something that is not CuPy's.

    Args:
        budgets: what is asked.
        allocator: what CuPy allocates through, by name.
    """
    reason = (
        f"CuPy allocates through {allocator}, set before, which has no limit of CuPy's: limit its own pool, or call "
        "cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc) before gpumem.configure()"
    )
    refused: dict[NotExpressed, None] = {}
    for budget in budgets.every():
        device = budget.ordinal if budget.named else None
        if budget.limit:
            refused[NotExpressed(NAME, "limit", reason, budget.limit.origin, device, budget.limit.asked)] = None
        if budget.preallocate:
            asked = f"preallocate={budget.preallocate.amount}"
            refused[NotExpressed(NAME, "preallocate", reason, budget.preallocate.origin, device, asked)] = None
    return Plan(NAME, not_expressed=tuple(refused))


def plan_limits(budgets: Budgets, state: FrameworkState, environ: Mapping[str, str], word: str) -> Plan:
    """Return the steps for the limits and for what is taken ahead.

    Args:
        budgets: what is asked.
        state: in which state CuPy is.
        environ: the environment without what gpumem wrote.
        word: the allocator that will be in force.
    """
    return _Limits(budgets, state, environ, word).plan()


@dataclass
class _Limits:
    budgets: Budgets
    state: FrameworkState
    environ: Mapping[str, str]
    word: str
    steps: list[Step] = field(default_factory=list)
    expectations: list[Expectation] = field(default_factory=list)
    not_expressed: dict[NotExpressed, None] = field(default_factory=dict)

    def plan(self) -> Plan:
        asked = [b for b in self.budgets.every() if b.limit or b.unlimited or b.preallocate]
        if asked:
            self.variable()
            if self.equal_for_all():
                self.device(None, self.budgets.every()[0])
            else:
                for budget in self.budgets.every():
                    self.device(budget.ordinal, budget)
        notes = (_AHEAD,) if any(rule.takes_ahead for rule in self.rules()) else ()
        return Plan(NAME, tuple(self.steps), tuple(self.expectations), tuple(self.not_expressed), notes)

    def rule(self, budget: Budget) -> Rule:
        return rule_for(budget, keeps_limit=_is_users_own(budget), takes_ahead=self.word in ("pool", "async"))

    def rules(self) -> Iterator[Rule]:
        return (self.rule(budget) for budget in self.budgets.every())

    def needs_total(self) -> bool:
        return any(rule.needs_total for rule in self.rules())

    def equal_for_all(self) -> bool:
        """Whether one rule says it for every device. Unequal cards under one share have a limit in bytes each."""
        every = self.budgets.every()
        wanted = {(self.rule(b), b.limit_bytes, _is_users_own(b), b.unlimited) for b in every}
        return len(wanted) == 1

    def bytes_for_all(self) -> int | None:
        """The limit in bytes if it is known and the same for every device, else None."""
        amounts = {None if _is_users_own(b) else b.limit_bytes for b in self.budgets.every()}
        return amounts.pop() if len(amounts) == 1 else None

    def variable(self) -> None:
        """Set the variable where it says what is asked; remove a user's one that is overruled everywhere."""
        amount = self.bytes_for_all()
        said = [b.limit.origin if b.limit else b.unlimited_because for b in self.budgets.every()]
        origin = min((item for item in said if item), key=lambda item: item.rank, default=None)
        if origin is None:
            return
        if amount is not None:
            action: SetVariable | RemoveVariable = SetVariable(LIMIT_VARIABLE, str(amount))
            note = ""
        elif LIMIT_VARIABLE in self.environ and all(self.overrules(b) for b in self.budgets.every()):
            action = RemoveVariable(LIMIT_VARIABLE)
            note = "the user's own variable is overruled"
        else:
            return
        self.steps.append(
            Step(
                action=action,
                fields=("limit",),
                because=origin,
                moment=Moment.NOW,
                # Not START: after that the call that follows does the same, and children read the variable anyway.
                deadline=Deadline.NEVER,
                scope=Scope.ALLOCATOR,
                strength=Strength.HARD,
                note=note,
                # Only a call at the first allocation sets it again; by itself CuPy takes what the variable says then.
                reasserted=not self.by_variable(),
            )
        )

    def overrules(self, budget: Budget) -> bool:
        return (budget.limit is not None or budget.unlimited) and not _is_users_own(budget)

    def by_variable(self) -> bool:
        """Whether the variable alone does it until CuPy's first use of its pool."""
        # The asynchronous pool needs whole blocks of the driver; a share is refined with the driver's own total.
        said = self.bytes_for_all() is not None or all(b.unlimited for b in self.budgets.every())
        return said and self.word != "async" and not self.needs_total()

    def device(self, ordinal: int | None, budget: Budget) -> None:
        """Plan for one device; None for all of them, or for all the others."""
        rule = self.rule(budget)
        fields: list[str] = []
        if budget.limit:
            fields.append("limit")
            self.expect_limit(ordinal, budget, rule)
        if budget.preallocate and budget.preallocate.amount is False:
            fields.append("preallocate")
            self.expectations.append(Expectation("preallocate", ordinal, value=False))
        elif budget.preallocate:
            self.ahead(ordinal, budget, rule, fields)
        if not fields and budget.unlimited and (self.state.imported is Answer.YES or self.some_limited()):
            fields.append("limit")
            self.expectations.append(Expectation("limit", ordinal, 0, unit="bytes"))
        if not fields:
            return
        origins = [item.origin for item in (budget.limit, budget.preallocate) if item is not None]
        because = min([*origins, *filter(None, [budget.unlimited_because])], key=lambda origin: origin.rank)
        if fields == ["limit", "preallocate"] and rule.takes_ahead:
            # A step each: where the device has no room for what is to be taken ahead, the limit still holds.
            self.steps.append(self.step(ordinal, replace(rule, preallocate=None), ("limit",), because))
            fields, because = ["preallocate"], origins[-1]
        self.steps.append(self.step(ordinal, rule, tuple(fields), because))

    def some_limited(self) -> bool:
        return self.budgets.any_limit or LIMIT_VARIABLE in self.environ

    def expect_limit(self, ordinal: int | None, budget: Budget, rule: Rule) -> None:
        if rule.share is not None:
            self.expectations.append(Expectation("limit", ordinal, rule.share, Comparison.LIMIT, unit="fraction"))
        elif budget.limit_bytes is not None:
            self.expectations.append(Expectation("limit", ordinal, budget.limit_bytes, Comparison.LIMIT, unit="bytes"))

    def ahead(self, ordinal: int | None, budget: Budget, rule: Rule, fields: list[str]) -> None:
        """Plan what is taken ahead, or say why it cannot be."""
        assert budget.preallocate is not None
        if not rule.takes_ahead:
            reason = "managed memory is placed on the device when it is used, so nothing can be taken ahead"
            asked = f"preallocate={str(budget.preallocate.amount).lower()}"
            self.not_expressed[NotExpressed(NAME, "preallocate", reason, budget.preallocate.origin, ordinal, asked)] = (
                None
            )
            return
        fields.append("preallocate")
        amount = budget.preallocate_bytes
        if amount is not None:
            # Where it is open which card it is, no more than on the largest one.
            total = budget.total if rule.at_most else budget.largest_total or budget.total
            expected = rule.ahead((budget.limit.in_bytes(total) if budget.limit else None) or 0) or amount
            self.expectations.append(Expectation("preallocate", ordinal, expected, Comparison.LIMIT, unit="bytes"))

    def step(self, ordinal: int | None, rule: Rule, fields: tuple[str, ...], because: Origin) -> Step:
        does_nothing = not rule.sets_limit and not rule.takes_ahead and rule.kept_share is None
        by_variable = self.by_variable() and not rule.takes_ahead
        if does_nothing:
            own = "the limit that is set already" if "limit" in fields else _GROWS
            action = RuntimeCall(OWN_WAY, text=own)
        else:
            arguments = {
                **rule.to_arguments(),
                "device": ordinal,
                "by_variable": self.by_variable(),
                "otherwise": _users_bytes(self.environ),
            }
            name = SET_LIMIT if "limit" in fields or not rule.sets_limit else TAKE_AHEAD
            action = RuntimeCall(name, arguments, _text(rule, fields, by_variable=by_variable))
        at_import = does_nothing or by_variable or self.state.started is Answer.YES
        return Step(
            action=action,
            fields=fields,
            because=because,
            moment=Moment.ON_IMPORT if at_import else Moment.ON_START,
            deadline=Deadline.NEVER,
            scope=Scope.ALLOCATOR if ordinal is None else Scope.DEVICE,
            strength=Strength.SOFT if self.word == "async" else Strength.HARD,
            device=ordinal,
        )


def _is_users_own(budget: Budget) -> bool:
    """Return whether the limit is the user's own setting of CuPy and nothing stronger narrows it."""
    return budget.limit is not None and all(bound.origin.rank is Rank.NATIVE for bound in budget.limit.bounds)


def _users_bytes(environ: Mapping[str, str]) -> int:
    """Return the limit in bytes that the user's variable gives a pool; 0 for none or a percentage."""
    text = environ.get(LIMIT_VARIABLE, "").strip()
    return int(text) if text.isdecimal() else 0


def _text(rule: Rule, fields: tuple[str, ...], *, by_variable: bool) -> str:
    parts = []
    if "limit" in fields and rule.sets_limit:
        parts.append(f"set_limit(size={_size(rule)}){' on pools in use' if by_variable else ''}")
    if rule.takes_ahead:
        amount = "the limit" if rule.preallocate is True else human(int(rule.preallocate or 0))
        parts.append(f"an allocation of {amount} at the first touch")
    return ", ".join(parts) or "the limit that is set already"


def _size(rule: Rule) -> str:
    if rule.unlimited:
        return "0"
    if not rule.needs_total:
        return str(rule.limit(None))
    terms = [
        f"{share:g} * total{f' {amount:+d}' if amount else ''}" if share else str(amount)
        for share, amount in rule.bounds
    ]
    text = terms[0] if len(terms) == 1 else f"min({', '.join(terms)})"
    return text if rule.at_most is None else f"{text}, at most {rule.at_most}"
