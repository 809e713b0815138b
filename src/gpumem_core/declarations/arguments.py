"""The policy in the arguments of `configure`, and the suggestions of libraries."""

from __future__ import annotations

from collections.abc import Mapping

from gpumem_core.declarations.lay_over import without_replaced
from gpumem_core.model.declaration import Declared
from gpumem_core.model.fault import Fault
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.policy import Policy, as_table
from gpumem_core.model.read_table import read_table
from gpumem_core.suggestions import suggestions


def read_arguments(policy: Policy | Mapping[str, object] | None, fields: Mapping[str, object], where: str) -> Declared:
    """Return what a call declares; `fields` given beside a policy override it.

    Args:
        policy: a `Policy`, a table with the same keys, or None.
        fields: the keyword arguments; None values are unset.
        where: the caller as ``file:line``.
    """
    origin = Origin(Rank.ARGUMENTS, where)
    base = as_table(policy) if policy is not None else {}
    if not isinstance(base, Mapping):
        problem = f"{policy!r} is neither a Policy nor a table; a size is written as cap={policy!r}"
        return Declared(faults=(Fault("policy", origin, problem),))
    given = {key: as_table(value) for key, value in fields.items() if value is not None}
    return read_table(without_replaced(base, given) | given, lambda _path: origin)


def read_suggestions() -> Declared:
    """Return what libraries suggested; a suggestion with faults is left out with a note."""
    result = Declared()
    for fields, where in suggestions():
        origin = Origin(Rank.SUGGESTION, where)
        table = {key: as_table(value) for key, value in fields.items()}
        declared = read_table(table, lambda _path, origin=origin: origin)  # type: ignore[misc]  # bound per round
        if declared.faults:
            notes = tuple(f"a suggestion is left out: {fault}" for fault in declared.faults)
            result += Declared(notes=notes)
        else:
            result += declared
    return result
