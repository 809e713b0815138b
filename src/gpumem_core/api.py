"""The public functions. Each gathers the sources, decides, and reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Unpack

from gpumem_core import pipeline, state
from gpumem_core.applying.announce import users_place
from gpumem_core.build_report import build_report
from gpumem_core.declarations.arguments import read_arguments
from gpumem_core.errors import PolicyError, VerificationError
from gpumem_core.model.declaration import Declared
from gpumem_core.model.fault import Fault
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.policy import (
    CapLike,
    DevicesLike,
    FractionLike,
    FrameworksLike,
    Policy,
    PolicyFields,
    PreallocateLike,
    SizeLike,
    VisibleLike,
)
from gpumem_core.model.read_value import nearest
from gpumem_core.model.report import BAD, Report, Row
from gpumem_core.model.settings import Allocator, Reaction
from gpumem_core.plugins.registry import PluginProblem
from gpumem_core.suggestions import prefer
from gpumem_core.verify_plan import problem_rows, rows_of

__all__ = [
    "configure",
    "configure_default",
    "explain",
    "is_configured",
    "prefer",
    "report",
    "reset",
    "verify",
]


def configure(
    policy: Policy | Mapping[str, object] | None = None,
    /,
    *,
    cap: CapLike | None = None,
    fraction: FractionLike | None = None,
    preallocate: PreallocateLike | None = None,
    growth: bool | None = None,
    allocator: Allocator | None = None,
    visible: VisibleLike | None = None,
    headroom: SizeLike | None = None,
    processes_per_device: int | Literal["auto"] | None = None,
    process_cap: SizeLike | None = None,
    devices: DevicesLike | None = None,
    frameworks: FrameworksLike | None = None,
    on_late: Reaction | None = None,
    on_unsupported: Reaction | None = None,
    ignore: Sequence[str] | None = None,
) -> Report:
    """Put a policy in force for every framework of this process, imported already, later or never.

    Imports no framework and starts none: no cuInit, no context, no thread. Everything is checked before the first
    change. The ``GPUMEM_*`` variables are stronger than the arguments; files and suggestions fill what nobody
    else says. A later call replaces the arguments of the earlier one: what that one wrote is restored, and the
    policy resolved anew. The same call again does nothing.

    Args:
        policy: a `Policy` or a table with the same keys; the arguments below override its fields.
        cap: see `Policy`; so are the others.
        fraction: as in `Policy`.
        preallocate: as in `Policy`.
        growth: as in `Policy`.
        allocator: as in `Policy`.
        visible: as in `Policy`.
        headroom: as in `Policy`.
        processes_per_device: as in `Policy`.
        process_cap: as in `Policy`.
        devices: as in `Policy`.
        frameworks: as in `Policy`.
        on_late: as in `Policy`.
        on_unsupported: as in `Policy`.
        ignore: as in `Policy`.

    Returns:
        what was asked, set and is in force, as `report()` gives it at any later time.

    Raises:
        PolicyError: the policy has faults; all are listed.
        LateInitialisationError: some settings would come too late.
        UnsupportedPolicyError: a framework that is imported or named cannot hold a limit.
        PolicyConflictError: two frameworks need one variable differently.
        PluginError: the plugin of a framework that the policy names failed.

    Example:
        >>> import gpumem
        >>> report = gpumem.configure(cap="8GiB", growth=True)
        >>> report.ok
        True
        >>> gpumem.reset()
        ()
    """
    return _configure(policy, _fields(locals()))


def configure_default(
    policy: Policy | Mapping[str, object] | None = None,
    /,
    *,
    cap: CapLike | None = None,
    fraction: FractionLike | None = None,
    preallocate: PreallocateLike | None = None,
    growth: bool | None = None,
    allocator: Allocator | None = None,
    visible: VisibleLike | None = None,
    headroom: SizeLike | None = None,
    processes_per_device: int | Literal["auto"] | None = None,
    process_cap: SizeLike | None = None,
    devices: DevicesLike | None = None,
    frameworks: FrameworksLike | None = None,
    on_late: Reaction | None = None,
    on_unsupported: Reaction | None = None,
    ignore: Sequence[str] | None = None,
) -> Report:
    """Configure unless somebody has already; for programs that other programs start, such as trainers.

    Args:
        policy: as for `configure`; so are the others.
        cap: as in `Policy`.
        fraction: as in `Policy`.
        preallocate: as in `Policy`.
        growth: as in `Policy`.
        allocator: as in `Policy`.
        visible: as in `Policy`.
        headroom: as in `Policy`.
        processes_per_device: as in `Policy`.
        process_cap: as in `Policy`.
        devices: as in `Policy`.
        frameworks: as in `Policy`.
        on_late: as in `Policy`.
        on_unsupported: as in `Policy`.
        ignore: as in `Policy`.

    Returns:
        the report; that of the earlier configuration where there is one.

    Raises:
        PolicyError: and the other errors of `configure`.

    Example:
        >>> import gpumem
        >>> _ = gpumem.configure(cap="4GiB")
        >>> gpumem.configure_default(cap="8GiB").policy["cap"]["value"]
        '4GiB'
        >>> gpumem.reset()
        ()
    """
    fields = _fields(locals())
    with state.lock():
        return report() if is_configured() else _configure(policy, fields)


def _fields(arguments: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in arguments.items() if name != "policy" and value is not None}


def _configure(policy: Policy | Mapping[str, object] | None, fields: Mapping[str, object]) -> Report:
    arguments = read_arguments(policy, fields, users_place())
    with state.lock():
        process = state.current()
        environ = pipeline.base_environment()
        declared = pipeline.collect(arguments, environ)
        decision = pipeline.decide(declared, environ)
        if process.decision is not None and _unchanged(process.decision, decision):
            process.arguments = arguments
            return report()
        decision, late = pipeline.checked(decision, declared, environ)
        pipeline.warn(decision, late)
        process.arguments = arguments
        pipeline.carry_out(decision, late)
        return report()


def _unchanged(before: pipeline.Decision, after: pipeline.Decision) -> bool:
    """Return whether the same is asked as before: then there is nothing to do, whatever has started meanwhile."""

    def essence(decision: pipeline.Decision) -> dict[str, object]:
        return {
            f"{item.key}@{int(item.origin.rank)}": item.value
            for item in decision.declarations
            if item.origin.rank != Rank.NATIVE
        }

    return essence(before) == essence(after)


def explain(policy: Policy | Mapping[str, object] | None = None, /, **fields: Unpack[PolicyFields]) -> Report:
    """Return what `configure` would do, without doing it.

    Args:
        policy: as for `configure`.
        **fields: the fields of `Policy`.

    Raises:
        PolicyError: the policy has faults. What would be too late, or cannot be held, is a row.
        PluginError: the plugin of a framework that the policy names failed.

    Example:
        >>> import gpumem
        >>> gpumem.explain(cap="8GiB").policy["cap"]["value"]
        '8GiB'
    """
    arguments = read_arguments(policy, fields, users_place())
    with state.lock():
        return pipeline.explain_declared(arguments, pipeline.base_environment())


def report() -> Report:
    """Return what was asked, set and is in force. Works before `configure` too; starts nothing.

    Before `configure` it shows what the sources declare, as `explain()` does.

    Example:
        >>> import gpumem
        >>> gpumem.report().rows_of("no-such-framework")
        ()
    """
    with state.lock():
        process = state.current()
        decision = process.decision
        if decision is None or process.ledger is None:
            try:
                return pipeline.explain_declared(Declared(), pipeline.base_environment())
            except PolicyError as error:
                # A report is asked for to see what is wrong, so it shows the faults instead of raising.
                return Report(rows=tuple(_fault_row(fault) for fault in error.faults))
        process.ledger.catch_up()
        rows: list[Row] = []
        environ = pipeline.base_environment()
        for item in decision.frameworks:
            try:
                now = decision.registry.state(item.name, environ)
            except PluginProblem as problem:
                rows += problem_rows([problem])
                continue
            rows += rows_of(item, decision.registry, process.ledger.outcomes, now)
        return build_report(decision, rows)


def _fault_row(fault: Fault) -> Row:
    return Row("policy", None, fault.key, "", None, None, "failed", str(fault.origin), why=fault.problem)


def is_configured() -> bool:
    """Return whether `configure` has put a policy in force in this process."""
    return state.current().decision is not None


def verify(require: Iterable[str] = (), *, strict: bool = False) -> Report:
    """Compare the policy with what the frameworks themselves report. Starts and imports nothing.

    Args:
        require: frameworks that must have a policy in force by now.
        strict: whether to raise where the policy is not in force.

    Returns:
        the report; each row's `state` is the verdict.

    Raises:
        VerificationError: with `strict`, for rows that differ, are exceeded, failed or late, and for a required
            framework of which a row is still pending or nothing at all is in force.
        PolicyError: when `require` names a framework that has no plugin.

    Example:
        >>> import gpumem
        >>> gpumem.verify().ok
        True
    """
    __tracebackhide__ = True  # pytest shows the error, not the source of this function
    required = (require,) if isinstance(require, str) else tuple(require)
    result = report()
    decision = state.current().decision
    known = {item.name: item for item in decision.frameworks} if decision else {}
    aliases = decision.registry.aliases if decision else {}
    names = [aliases.get(name, name) for name in required]
    unknown = [name for name in names if name not in known] if decision else list(names)
    if unknown:
        origin = Origin(Rank.ARGUMENTS, users_place())
        problem = (
            "no policy for it is configured in this process" if not decision else "there is no plugin of this name"
        )
        choices = (*known, *aliases)
        raise PolicyError(
            tuple(Fault(f"require={n}", origin, problem, ", ".join(known), nearest(n, choices)) for n in unknown)
        )
    if strict:
        bad = [row for row in result.rows if row.state in BAD]
        for name in names:
            bad += [row for row in _missing(result, name) if row not in bad]
        if bad:
            raise VerificationError(tuple(bad))
    return result


def _missing(report: Report, framework: str) -> list[Row]:
    """Return what is missing where something must be in force by now and nothing may still be to come."""
    rows = list(report.rows_of(framework))
    if not rows:
        why = "the policy asks nothing of it"
        return [Row(framework, None, "policy", "in force", None, None, "not_expressed", "verify(require=...)", why=why)]
    pending = [row for row in rows if row.state == "pending"]
    return pending if any(row.state == "in_force" for row in rows) else rows


def reset() -> tuple[str, ...]:
    """Take back everything gpumem did in this process and forget the policy.

    The environment is restored exactly, hooks are removed.

    Returns:
        a sentence for each thing that cannot be taken back in this process.

    Example:
        >>> import gpumem
        >>> gpumem.reset()
        ()
    """
    with state.lock():
        ledger = state.current().ledger
        left: tuple[str, ...] = ()
        if ledger is not None:
            left = pipeline.read_already() + ledger.close() + ledger.journal.restore()
        registered = state.current().registered
        state.forget()
        state.current().registered.update(registered)
        return left
