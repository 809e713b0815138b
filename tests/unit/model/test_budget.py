"""Bounds, limits and budgets: bytes where the total is known, shares where nothing else is asked."""

import pytest

from gpumem_core.model.budget import Bound, Budget, Budgets, Limit, Preallocation
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.sizes import GIB, MIB

CALL = Origin(Rank.ARGUMENTS, "train.py:3")
FILE = Origin(Rank.PROJECT_FILE, "pyproject.toml: tool.gpumem.fraction")
CAP = Bound("cap", 0.0, 4 * GIB, "4GiB", FILE)
HALF = Bound("fraction", 0.5, 0, "0.5", CALL)
HEADROOM = Bound("headroom", 0.5, -512 * MIB, "512MiB with 2 processes", CALL)


@pytest.mark.parametrize(
    ("bounds", "total", "amount", "share", "plain"),
    [
        ([CAP], None, 4 * GIB, None, 4 * GIB),
        ([CAP], 16 * GIB, 4 * GIB, None, 4 * GIB),
        ([HALF], None, None, 0.5, None),
        ([HALF], 16 * GIB, 8 * GIB, 0.5, None),
        ([CAP, HALF], None, None, None, None),
        ([CAP, HALF], 16 * GIB, 4 * GIB, None, None),
        ([CAP, HALF], 6 * GIB, 3 * GIB, None, None),
        ([HEADROOM], 16 * GIB, 8 * GIB - 512 * MIB, None, None),
        ([HALF, HEADROOM], 16 * GIB, 8 * GIB - 512 * MIB, None, None),
    ],
)
def test_a_limit_is_the_smallest_of_its_bounds(bounds, total, amount, share, plain):
    limit = Limit(tuple(bounds))
    assert (limit.in_bytes(total), limit.pure_share, limit.pure_bytes) == (amount, share, plain)


def test_a_limit_says_what_was_asked_and_who_decided():
    limit = Limit((CAP, HALF))
    assert (limit.asked, limit.field, limit.origin) == ("cap=4GiB, fraction=0.5", "cap", CALL)
    assert limit.decisive(6 * GIB) is HALF
    assert limit.decisive(16 * GIB) is CAP
    assert limit.decisive(None) is CAP


@pytest.mark.parametrize(
    ("budget", "share"),
    [
        (Budget(0, 16 * GIB), None),
        (Budget(0, None, Limit((HALF,))), 0.5),
        (Budget(0, None, Limit((CAP,))), None),
        (Budget(0, 16 * GIB, Limit((CAP,))), 0.25),
        (Budget(0, 8 * GIB, Limit((CAP,)), largest_total=16 * GIB), 0.25),
    ],
)
def test_a_share_holds_whichever_card_is_meant(budget, share):
    assert budget.limit_share == share


@pytest.mark.parametrize(
    ("amount", "limit", "ahead"),
    [
        (False, CAP, 0),
        (True, CAP, 4 * GIB),
        (GIB, CAP, GIB),
        (8 * GIB, CAP, 4 * GIB),
        (GIB, None, GIB),
        (True, HALF, None),
    ],
)
def test_what_is_taken_ahead_is_never_above_the_limit(amount, limit, ahead):
    budget = Budget(0, None, Limit((limit,)) if limit else None, preallocate=Preallocation(amount, CALL))
    assert budget.preallocate_bytes == ahead
    assert budget.preallocate.grows is (amount is not True)


def test_a_device_without_a_budget_of_its_own_has_that_of_the_others():
    own, others = Budget(0, limit=Limit((CAP,))), Budget(None)
    budgets = Budgets((own,), others, complete=False)
    assert (budgets.of(0), budgets.of(7), budgets.every(), budgets.any_limit) == (own, others, (own, others), True)
    assert Budgets((own,), others, complete=True).every() == (own,)
    assert Budgets((), others, complete=True).every() == (others,)
