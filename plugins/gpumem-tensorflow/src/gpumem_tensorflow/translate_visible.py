"""Translates which GPUs TensorFlow sees, and tells which budgets concern it then."""

from __future__ import annotations

from gpumem.plugin import Budget, Budgets, Expectation, FrameworkSettings, Origin, PlanPart, Strength
from gpumem_tensorflow.plan_part import refused, start_step


def budgets_in_use(settings: FrameworkSettings, budgets: Budgets) -> tuple[Budget, ...]:
    """Return the budgets of the GPUs that TensorFlow is to see."""
    if settings.hidden:
        return ()
    every = budgets.every()
    if settings.visible is None or not isinstance(settings.visible.value, tuple):
        return every
    wanted = set(settings.visible.value)
    known = {budget.ordinal for budget in budgets.devices}
    return tuple(budget for budget in every if (wanted - known if budget.ordinal is None else budget.ordinal in wanted))


def plan_visible(settings: FrameworkSettings, budgets: Budgets) -> PlanPart:
    """Return the part of the plan for `visible`.

    TensorFlow numbers the visible GPUs in the order of their ordinals, whatever the order in which they are
    given: [g1, g0] makes a visible_device_list of "0,1" (context.py, _compute_device_options).
    """
    if settings.visible is None:
        return PlanPart()
    origin = settings.visible.origin
    strict = settings.reaction_to_unsupported("visible") == "error"
    if settings.hidden:
        return _sees([], origin, strict, "hide every GPU; no CUDA context is made for TensorFlow")
    known = [budget.ordinal for budget in budgets.devices if budget.ordinal is not None] if budgets.complete else []
    wanted = settings.visible.value
    if not isinstance(wanted, tuple):
        return _sees(sorted(known), origin, strict) if known else _sees("all", origin, strict)
    missing = [number for number in wanted if known and number not in known]
    parts = [
        refused("visible", f"this process sees no GPU {number}", origin, device=number, asked=f"visible={list(wanted)}")
        for number in missing
    ]
    present = [number for number in wanted if number not in missing]
    note = "" if present == sorted(present) else "TensorFlow numbers them in the order of their ordinals"
    return sum([*parts, _sees(sorted(present), origin, strict, note)], PlanPart())


def _sees(ordinals: list[int] | str, origin: Origin, strict: bool, note: str = "") -> PlanPart:
    text = f"tf.config.set_visible_devices({ordinals if isinstance(ordinals, list) else 'all GPUs'}, 'GPU')"
    step = start_step(
        "visible", {"ordinals": ordinals, "strict": strict}, text, ("visible",), origin, Strength.HARD, note=note
    )
    expected = tuple(ordinals) if isinstance(ordinals, list) else ordinals
    return PlanPart((step,), (Expectation("visible", None, expected),))
