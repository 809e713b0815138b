"""A limit in bytes becomes a fraction that never allows more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumem_torch.fractions_of_total import chosen_fraction, fraction_for
from gpumem_torch.take_ahead import room_below

GIB = 1 << 30
TOTALS = st.integers(min_value=1 << 28, max_value=1 << 42)
LIMITS = st.integers(min_value=1 << 20, max_value=1 << 42)


@given(LIMITS, TOTALS)
def test_it_never_allows_more_whichever_way_pytorch_rounds(limit: int, total: int) -> None:
    """Cut off (up to 2.9) or rounded to the nearest (2.14), the bytes are the limit or at most one below."""
    fraction = fraction_for(limit, total)
    assert 0 < fraction < 1
    assert int(fraction * total) <= round(fraction * total) <= limit
    if limit < total:
        assert int(fraction * total) >= limit - 1


@given(st.floats(min_value=0.001, max_value=1), TOTALS)
def test_a_share_is_passed_as_it_is_unless_rounding_would_exceed_it(share: float, total: int) -> None:
    """0.7 of 16 GiB would be rounded up by PyTorch 2.14; such a share is set a trifle lower."""
    fraction = chosen_fraction([[share, 0]], total, 0)
    assert round(fraction * total) <= share * total or share == 1
    assert fraction == share or int(share * total) - round(fraction * total) in {0, 1}


def test_the_smallest_bound_counts_and_the_margin_is_taken_off() -> None:
    """Half of 16 GiB less 512 MiB is less than a cap of 12 GiB; expandable segments need 20 MiB more."""
    bounds = [[0.0, 12 * GIB], [0.5, -512 << 20]]
    assert chosen_fraction(bounds, 16 * GIB, 0) * 16 * GIB == 7.5 * GIB
    assert chosen_fraction(bounds, 16 * GIB, 20 << 20) * 16 * GIB == 7.5 * GIB - (20 << 20)


@pytest.mark.parametrize(
    ("bounds", "margin", "fraction"), [([[1.0, 0]], 0, 1.0), ([[0.25, 0]], 0, 0.25), ([[1.5, 0]], 0, 1.0)]
)
def test_whole_shares_stay_whole(bounds: list[list[float]], margin: int, fraction: float) -> None:
    """A share of one is the whole device, which PyTorch takes for no limit."""
    assert chosen_fraction(bounds, 16 * GIB, margin) == fraction


def test_a_cap_of_the_whole_device_stays_a_limit() -> None:
    """The fraction 1 would remove the limit."""
    assert 0.999 < chosen_fraction([[0.0, 16 * GIB]], 16 * GIB, 0) < 1


def test_a_limit_below_the_margin_allows_next_to_nothing_and_is_no_zero() -> None:
    """Nothing may be read as "no limit"."""
    assert 0 < chosen_fraction([[0.0, 10 << 20]], 16 * GIB, 20 << 20) < 1e-9


@given(LIMITS)
def test_the_room_below_a_limit_holds_a_large_and_a_small_segment(limit: int) -> None:
    """What is taken ahead leaves at least 22 MiB and at most 256 MiB."""
    assert 22 << 20 <= room_below(limit, 20 << 20) <= 256 << 20
