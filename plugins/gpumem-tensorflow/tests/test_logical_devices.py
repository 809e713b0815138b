"""The arithmetic on logical devices never exceeds a limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumem_tensorflow.logical_devices import MB, fit, limit_in_bytes, megabytes, sum_in_bytes


@pytest.mark.parametrize(
    ("limit", "whole"), [(8 << 30, 8192), (1234567891, 1177), (MB, 1), (MB - 1, 0), (10 * 1024 * MB + 1, 10240)]
)
def test_megabytes_are_2_to_the_20_bytes_rounded_down(limit: int, whole: int) -> None:
    assert megabytes(limit) == whole


def test_the_smallest_bound_decides_and_a_share_needs_the_total() -> None:
    assert limit_in_bytes([(0.0, 4 << 30), (0.5, 0)], 16 << 30) == 4 << 30
    assert limit_in_bytes([(0.0, 12 << 30), (0.5, 0)], 16 << 30) == 8 << 30
    assert limit_in_bytes([(0.5, -(512 << 20))], 16 << 30) == (8 << 30) - (512 << 20)
    assert limit_in_bytes([(0.0, 4 << 30)], None) == 4 << 30
    assert limit_in_bytes([(0.0, 4 << 30), (0.5, 0)], None) is None


@pytest.mark.parametrize(
    ("limits", "held"), [((2048,), 2 << 30), ((1000.5, 1000), 2000 * MB), ((2048, 0), None), ((-5,), None)]
)
def test_a_limit_of_nothing_or_less_means_that_nothing_holds(limits: tuple[float, ...], held: int | None) -> None:
    assert sum_in_bytes(limits) == held


@given(st.lists(st.integers(1, 1 << 20), min_size=1, max_size=5), st.integers(1 << 20, 1 << 40))
def test_a_split_that_is_made_smaller_keeps_its_number_of_parts_and_is_within_the_limit(
    limits: list[int], cap: int
) -> None:
    parts = fit(limits, cap)
    if parts is None:
        assert megabytes(cap) < sum(limits)
    else:
        assert len(parts) == len(limits)
        assert sum(parts) * MB <= cap
        assert min(parts) >= 1


def test_a_split_without_limits_becomes_equal_parts() -> None:
    assert fit([0, -5], 4 << 30) == (2048, 2048)
