"""Budgets: min(cap, fraction x total / n, total / n - headroom), never rounded up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumem_core.divide_budget import BudgetDivider, impossible_bounds, largest_share, taken_ahead
from gpumem_core.model.device import Device, Devices
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.read_table import read_table
from gpumem_core.sizes import GIB, MIB

TWO = Devices((Device(0, total=16 * GIB, free=10 * GIB), Device(1, total=8 * GIB, free=8 * GIB)), True, "assumed", True)
UNKNOWN = Devices(why="the devices were not asked for")


def divide(policy, devices=TWO, free=None):
    declared = read_table(policy, lambda path: Origin(Rank.ARGUMENTS, ".".join(path)))
    assert not declared.faults, declared.faults
    return BudgetDivider(declared.declarations, devices, {} if free is None else free).divide("numbat")


def limits(policy, devices=TWO):
    return [budget.limit_bytes for budget in divide(policy, devices)[0].devices]


@pytest.mark.parametrize(
    ("policy", "first", "second"),
    [
        ({"cap": "4GiB"}, 4 * GIB, 4 * GIB),
        ({"fraction": 0.5}, 8 * GIB, 4 * GIB),
        ({"cap": "50%"}, 8 * GIB, 4 * GIB),
        ({"cap": "50% free"}, 5 * GIB, 4 * GIB),
        ({"cap": "6GiB", "fraction": 0.5}, 6 * GIB, 4 * GIB),
        ({"cap": "4GiB", "processes_per_device": 2}, 4 * GIB, 4 * GIB - 512 * MIB),
        ({"fraction": 0.5, "processes_per_device": 2}, 4 * GIB, 2 * GIB),
        ({"processes_per_device": 4}, 4 * GIB - 512 * MIB, 2 * GIB - 512 * MIB),
        ({"processes_per_device": 1}, None, None),
        ({"headroom": "1GiB"}, 15 * GIB, 7 * GIB),
        ({"headroom": "25%"}, 12 * GIB, 6 * GIB),
        ({"headroom": "10% free"}, 15 * GIB, 8 * GIB - int(0.1 * 8 * GIB)),
        ({"headroom": "1GiB", "processes_per_device": 2, "fraction": 1}, 7 * GIB, 3 * GIB),
        ({"devices": {1: {"headroom": "2GiB"}}}, None, 6 * GIB),
        ({"cap": "none", "processes_per_device": 2}, None, None),
        ({"devices": {0: {"cap": "1GiB"}}, "fraction": 0.5}, GIB, 4 * GIB),
        ({"growth": True}, None, None),
    ],
)
def test_the_smallest_bound_is_the_limit(policy, first, second):
    assert limits(policy) == [first, second]


def test_what_is_free_is_resolved_once_per_process():
    free = {}
    divide({"cap": "50% free"}, TWO, free)
    later = Devices((Device(0, total=16 * GIB, free=GIB), Device(1, total=8 * GIB, free=GIB)), True, "nvml", True)
    budgets, _missing = divide({"cap": "50% free"}, later, free)
    assert [budget.limit_bytes for budget in budgets.devices] == [5 * GIB, 4 * GIB]


@pytest.mark.parametrize(
    "policy", [{"cap": "50% free"}, {"headroom": "10% free"}, {"preallocate": "10%", "cap": "1GiB"}]
)
def test_what_cannot_be_calculated_is_listed_with_the_reason(policy):
    _budgets, missing = divide(policy, UNKNOWN)
    assert "write an amount instead" in missing[0].reason
    assert "the devices were not asked for" in missing[0].reason or "unknown" in missing[0].reason


def test_a_pure_fraction_and_a_pure_amount_need_no_total():
    budgets, missing = divide({"fraction": 0.5, "devices": {1: {"cap": "2GiB"}}}, UNKNOWN)
    assert (budgets.others.limit.pure_share, budgets.of(1).limit.pure_bytes, missing) == (0.5, 2 * GIB, ())
    assert budgets.of(1).named
    assert not budgets.complete
    assert budgets.unknown == "the devices were not asked for"


def test_where_ordinals_are_ambiguous_the_smallest_total_counts():
    ambiguous = Devices(TWO.found, True, "nvml", True, ambiguous="the cards differ")
    assert limits({"fraction": 0.5}, ambiguous) == [4 * GIB, 4 * GIB]


def test_preallocation_is_never_above_the_limit():
    budgets, _ = divide({"cap": "1GiB", "preallocate": "2GiB"})
    assert [budget.preallocate_bytes for budget in budgets.devices] == [GIB, GIB]
    budgets, _ = divide({"cap": "1GiB", "preallocate": True})
    assert budgets.devices[0].preallocate_bytes == GIB
    budgets, _ = divide({"cap": "1GiB", "growth": True})
    assert (budgets.devices[0].preallocate_bytes, budgets.devices[0].preallocate.grows) == (0, True)


def test_an_impossible_share_says_what_would_fit():
    faults = impossible_bounds("numbat", divide({"processes_per_device": 64})[0])
    assert "at most 31 processes fit" in str(faults[0])
    assert "at most 15 processes fit" in str(faults[1])
    assert faults[0].key == "headroom"


def test_the_largest_share_still_leaves_one_mib():
    total = 16 * GIB
    n = largest_share(total, 512 * MIB)
    assert total // n - 512 * MIB >= MIB > total // (n + 1) - 512 * MIB


def test_what_frameworks_take_ahead_is_summed_by_device():
    budgets = divide({"cap": "6GiB", "preallocate": True})[0]
    assert taken_ahead({"numbat": budgets}) == ()
    (sentence,) = taken_ahead({"numbat": budgets, "quokka": budgets})
    assert "device 1" in sentence


@given(
    total=st.integers(GIB, 200 * GIB),
    cap=st.none() | st.integers(MIB, 300 * GIB),
    fraction=st.none() | st.floats(0.001, 1),
    processes=st.integers(1, 16),
    headroom=st.none() | st.integers(MIB, GIB),
)
def test_no_limit_is_above_any_of_its_bounds(total, cap, fraction, processes, headroom):
    policy = {"cap": cap, "fraction": fraction, "processes_per_device": processes, "headroom": headroom}
    (limit,) = limits(policy, Devices((Device(0, total=total),), True, "assumed", True))
    bounds = [cap] if cap else []
    bounds += [fraction * total / processes] if fraction else []
    if processes > 1 or headroom:
        bounds.append(total / processes - (headroom or 512 * MIB))
    assert (limit is None) == (not bounds)
    if limit is not None:
        assert min(bounds) - 1.001 <= limit <= min(bounds) + 1e-4
