"""Fractions never exceed the limit they come from, and are as large as can be."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumem_jax.fraction import GRANULARITY, as_float32, as_text, floored, in_force, largest_fraction

GIB = 1 << 30
totals = st.integers(min_value=1 << 30, max_value=300 << 30)
limits = st.integers(min_value=2 << 20, max_value=300 << 30)


@given(limits, totals)
@settings(max_examples=500, deadline=None)
def test_jax_never_holds_more_than_the_limit(limit: int, total: int) -> None:
    """Even rounded up to whole units, what JAX makes of the text is within the limit."""
    read_by_jax = as_float32(float(as_text(largest_fraction(limit, total))))
    assert 0 < in_force(total, read_by_jax) <= limit


@given(limits, totals)
@settings(max_examples=500, deadline=None)
def test_no_larger_fraction_would_do(limit: int, total: int) -> None:
    """The next 32-bit float would exceed the limit, so less than one unit is lost."""
    fraction = largest_fraction(limit, total)
    assert int(total * as_float32(fraction * (1 + 2**-23))) > floored(limit) or fraction * (1 + 2**-23) == fraction
    assert floored(limit) - int(total * fraction) <= 1 + total * fraction * 2**-23


@given(limits, totals)
@settings(max_examples=200, deadline=None)
def test_the_text_is_read_back_as_the_same_float(limit: int, total: int) -> None:
    """Python float, then 32-bit float, as JAX does."""
    fraction = largest_fraction(limit, total)
    assert as_float32(float(as_text(fraction))) == fraction


def test_plain_division_would_exceed_the_limit() -> None:
    """The reason for all this: every other division is rounded up somewhere."""
    wrong = sum(
        in_force(80 * GIB - 12345 * step, as_float32(limit / (80 * GIB - 12345 * step))) > limit
        for step in range(10)
        for limit in range(3 * GIB, 7 * GIB, 123456789)
    )
    assert wrong > 100


@pytest.mark.parametrize("limit", [-5, 0, 1, GRANULARITY - 1])
def test_less_than_one_unit_is_nothing(limit: int) -> None:
    """The caller must refuse it: a fraction of 0 would leave JAX without any memory."""
    assert largest_fraction(limit, 16 * GIB) == 0
