"""Sizes as people write them."""

from __future__ import annotations

import pytest

from gpumem_simgpu import SimulationError
from gpumem_simgpu.sizes import human_size, parse_size, size_text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("16GiB", 16 << 30),
        ("16 gib", 16 << 30),
        ("16Gi", 16 << 30),
        ("0.5GiB", 1 << 29),
        ("16GB", 16 * 10**9),
        ("16G", 16 * 10**9),
        ("1TiB", 1 << 40),
        ("42298834944", 42298834944),
        (42298834944, 42298834944),
    ],
)
def test_units_are_binary_with_an_i_and_decimal_without(text: str | int, size: int) -> None:
    """As everywhere else: GiB is 2**30, GB is 10**9, nothing is bytes."""
    assert parse_size(text, "devices") == size


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("16", 'did you mean "16GiB"'),
        ("8192", 'did you mean "8192MiB"'),
        ("512KiB", "the smallest size is 1MiB"),
        ("0", "the smallest size is 1MiB"),
        ("-1GiB", "not a size"),
        ("1.5", "not a whole number of bytes"),
        ("much", "not a size"),
        ("", "not a size"),
        ("16iB", "not a size"),
        ("99999999TiB", "more than any device has"),
        (True, "not a size"),
    ],
)
def test_what_is_no_size_is_refused_with_what_to_write(text: str, said: str) -> None:
    """Bytes by accident and nonsense; the message begins with what the value belongs to."""
    with pytest.raises(SimulationError, match=r"^devices: ") as caught:
        parse_size(text, "devices")
    assert said in str(caught.value)


def test_nothing_is_a_size_where_it_may_be() -> None:
    """A context may cost nothing; a forgotten unit is found there too."""
    assert parse_size("0", "context", zero=True) == 0
    with pytest.raises(SimulationError, match='did you mean "300MiB"'):
        parse_size("300", "context", zero=True)


@pytest.mark.parametrize(("size", "text"), [(16 << 30, "16GiB"), (15360 << 20, "15GiB"), (3 << 20, "3MiB"), (7, "7")])
def test_a_size_is_written_exactly(size: int, text: str) -> None:
    """What is written is read back to the same bytes."""
    assert size_text(size) == text
    assert parse_size(text, "x", smallest=1) == size


def test_a_size_for_people_has_two_decimals() -> None:
    """79.14 GiB is what an error message of a framework says too."""
    assert (human_size(81039 << 20), human_size(16 << 30), human_size(300 << 20)) == ("79.14 GiB", "16 GiB", "300 MiB")
