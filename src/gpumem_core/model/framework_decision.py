"""What was decided for one framework."""

from __future__ import annotations

from dataclasses import dataclass

from gpumem_core.model.budget import Budgets
from gpumem_core.model.framework import FrameworkState
from gpumem_core.model.plan import Plan
from gpumem_core.model.settings import FrameworkSettings


@dataclass(frozen=True, slots=True)
class FrameworkDecision:
    """What was decided for one framework.

    Attributes:
        name: the framework.
        installed: whether it can be imported here.
        settings: its settings.
        budgets: what it may hold.
        state: in which state it was found.
        plan: what will be done.
    """

    name: str
    installed: bool
    settings: FrameworkSettings
    budgets: Budgets
    state: FrameworkState
    plan: Plan
