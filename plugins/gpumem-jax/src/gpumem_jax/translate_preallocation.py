"""What is taken at first touch: JAX takes its whole limit, or nothing."""

from __future__ import annotations

from gpumem.plugin import Budget, Expectation, Preallocation, Rank, SetVariable, Strength, human
from gpumem_jax import variables
from gpumem_jax.plan_part import Part, Situation, refused, variable_step


def translate_preallocation(situation: Situation, word: str) -> Part:
    """Return the part of the plan for the field `preallocate` under the allocator `word`."""
    asked = [(budget, budget.preallocate) for budget in situation.seen if budget.preallocate]
    if not asked:
        return Part()
    strongest = min((pre for _budget, pre in asked), key=lambda pre: pre.origin.rank)
    everything = all(pre.amount is True for _budget, pre in asked)
    if everything and word in {"vmm", "direct"}:
        reason = f"JAX's allocator for {word} takes nothing ahead; use allocator=pool, or growth"
        return refused("preallocate", reason, strongest.origin, asked="preallocate=true")
    part = Part(options={"preallocate": everything})
    exceptions = _exceptions(asked, everything)
    if strongest.origin.rank == Rank.NATIVE and situation.user.preallocate == everything:
        action = SetVariable(variables.PREALLOCATE, situation.environ[variables.PREALLOCATE])
        note = "the user's own variable, left as it is"
        part = Part()
    else:
        action = SetVariable(variables.PREALLOCATE, "true" if everything else "false")
        note = "where the driver refuses the whole limit, JAX takes nine tenths of it" if everything else ""
    strength = Strength.SOFT if everything else Strength.GROWTH
    step = variable_step(action, ("preallocate",), strongest.origin, strength, note)
    # Where every device asks for a size there is nothing to expect: growth from nothing only comes nearest to it.
    sizes_only = all(not isinstance(pre.amount, bool) for _budget, pre in asked)
    expected = () if sizes_only else (Expectation("preallocate", None, everything),)
    return part + Part((step,), expected) + exceptions


def _exceptions(asked: list[tuple[Budget, Preallocation]], everything: bool) -> Part:
    """List what one switch for all devices cannot say."""
    part = Part()
    alike = len({pre.amount for _budget, pre in asked}) == 1
    listed: set[int | None] = set()
    for budget, pre in asked:
        device = None if alike else budget.ordinal
        if device in listed or pre.amount is everything:
            continue
        listed.add(device)
        if pre.amount is True:
            reason = "JAX has one switch for all devices, and another device is not to take everything: it grows"
            part += refused("preallocate", reason, pre.origin, device=device, asked="preallocate=true")
        else:
            reason = "JAX takes its whole limit ahead or nothing; it grows from nothing up to the limit"
            amount = "false" if pre.amount is False else human(pre.amount)
            part += refused("preallocate", reason, pre.origin, device=device, asked=f"preallocate={amount}")
    return part
