"""What a rule comes to in bytes."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumem_cupy.rule import BLOCK, Rule, rule_of

GIB = 1 << 30
bounds = st.lists(
    st.one_of(
        st.tuples(st.just(0.0), st.integers(1 << 20, 100 * GIB)),
        st.tuples(st.floats(0.01, 1.0), st.integers(-GIB, 0)),
    ),
    min_size=1,
    max_size=3,
).map(tuple)


@given(bounds, st.integers(64 << 20, 200 * GIB), st.none() | st.integers(1 << 20, 100 * GIB))
def test_a_limit_is_never_above_any_bound_and_never_cupys_zero(
    pairs: tuple[tuple[float, int], ...], total: int, at_most: int | None
) -> None:
    """0 would mean no limit to CuPy: what leaves nothing is an error instead."""
    rule = Rule(pairs, at_most)
    if min(int(share * total) + amount for share, amount in pairs) <= 0:
        with pytest.raises(ValueError, match="comes to"):
            rule.limit(total)
        return
    limit = rule.limit(total)
    assert limit > 0
    assert all(limit <= share * total + amount for share, amount in pairs)
    assert at_most is None or limit <= at_most


@given(
    st.booleans() | st.integers(0, 100 * GIB),
    st.integers(0, 100 * GIB),
)
def test_what_is_taken_ahead_is_whole_blocks_within_the_limit(amount: bool | int, limit: int) -> None:
    """CuPy rounds a request up to 512 bytes, so an odd limit could not be taken whole."""
    ahead = Rule(preallocate=amount).ahead(limit)
    assert ahead % BLOCK == 0
    assert not limit or ahead <= limit
    assert ahead == 0 or amount


@given(bounds, st.none() | st.booleans() | st.integers(0, GIB), st.booleans())
def test_a_rule_survives_being_plain_values(
    pairs: tuple[tuple[float, int], ...], preallocate: bool | int | None, unlimited: bool
) -> None:
    """The arguments of a call give the same rule back."""
    rule = Rule(pairs, 7, unlimited, preallocate, 0.5)
    assert rule_of(pickle.loads(pickle.dumps(rule.to_arguments()))) == rule


def test_a_share_without_a_total_is_an_error_and_bytes_need_none() -> None:
    """Bytes are the same on every device; a share is not."""
    assert Rule(((0.0, GIB),)).limit(None) == GIB
    with pytest.raises(ValueError, match="total is unknown"):
        Rule(((0.5, 0),)).limit(None)
    assert Rule(unlimited=True).limit(None) == 0


@pytest.mark.parametrize("headroom", [8 * GIB, 9 * GIB])
def test_nothing_left_is_an_error(headroom: int) -> None:
    """A headroom that eats the whole share would be sent as 0, CuPy's word for no limit."""
    with pytest.raises(ValueError, match="comes to"):
        Rule(((0.5, -headroom),)).limit(16 * GIB)
