"""A policy as a plan for JAX. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from gpumem.plugin import Budgets, FrameworkSettings, FrameworkState, Plan
from gpumem_jax import builds
from gpumem_jax.describe import NAME
from gpumem_jax.limit_figures import limit_figures
from gpumem_jax.plan_part import Part, Situation
from gpumem_jax.translate_allocator import choose_allocator
from gpumem_jax.translate_call import with_client_options
from gpumem_jax.translate_limit import translate_limit
from gpumem_jax.translate_options import translate_options
from gpumem_jax.translate_preallocation import translate_preallocation
from gpumem_jax.translate_visible import translate_visible


def translate(settings: FrameworkSettings, budgets: Budgets, state: FrameworkState, environ: Mapping[str, str]) -> Plan:
    """Return the plan."""
    situation = Situation.of(settings, budgets, state, environ)
    if settings.hidden:
        moot = budgets.any_limit or any(budget.preallocate for budget in budgets.every())
        notes = ("it sees no GPU, so its limit and preallocation have no meaning",) if moot else ()
        part = translate_visible(situation) + translate_options(situation) + Part(notes=notes)
    else:
        figures = limit_figures(situation)
        choice = choose_allocator(situation, figures)
        above_one = choice.word == "managed"
        part = sum(
            (
                translate_limit(situation, figures, above_one=above_one),
                translate_preallocation(situation, choice.word),
                choice.part,
                translate_options(situation),
                Part(notes=_notes(situation)),
            ),
            Part(),
        )
        part = with_client_options(situation, figures, part, above_one=above_one) + translate_visible(situation)
    return Plan(NAME, part.steps, part.expectations, part.not_expressed, part.notes)


def _notes(situation: Situation) -> tuple[str, ...]:
    notes = []
    if situation.budgets.ambiguous and situation.budgets.any_limit:
        notes.append(f"one fraction for all cards, calculated for the worst case: {situation.budgets.ambiguous}")
    versions = situation.state.versions
    if versions and builds.jaxlib_version(versions) is None:
        notes.append("the version of jaxlib is unknown: only what every version has is used")
    return tuple(notes)
