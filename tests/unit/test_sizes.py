"""Sizes: one verdict on every text and number, always bytes, and a text that is read back to the same size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumem_core.sizes import GIB, LARGEST, MIB, SMALLEST, Size, SizeError, exact, human, parse_size


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("8GiB", 8 * GIB),
        ("8Gi", 8 * GIB),
        ("8gib", 8 * GIB),
        ("8 GiB", 8 * GIB),
        ("  8GiB\n", 8 * GIB),
        ("1.5GiB", 3 * GIB // 2),
        (".5GiB", GIB // 2),
        ("5.GB", 5 * 10**9),
        ("8GB", 8 * 10**9),
        ("8G", 8 * 10**9),
        ("1Gb", 10**9),  # never bits
        ("1gb", 10**9),
        ("1024MiB", GIB),
        ("1e3MB", 10**9),
        ("2TiB", 2 << 40),
        ("1PB", 10**15),
        ("8589934592", 8 * GIB),
        ("8589934592B", 8 * GIB),
        ("1048576", MIB),
        (8 * GIB, 8 * GIB),
        (SMALLEST, SMALLEST),
        (LARGEST, LARGEST),
    ],
)
def test_a_size_is_read_as_bytes_whatever_its_case(text, amount):
    assert parse_size(text) == Size(bytes=amount)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("50%", Size(percent=50.0)),
        ("50 %", Size(percent=50.0)),
        ("50% total", Size(percent=50.0)),
        ("50% of total", Size(percent=50.0)),
        ("80% free", Size(percent=80.0, of="free")),
        ("80% of FREE", Size(percent=80.0, of="free")),
        ("100%", Size(percent=100.0)),
        ("0.5%", Size(percent=0.5)),
    ],
)
def test_a_percentage_is_of_the_total_or_of_what_is_free(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("-1GiB", "negative"),
        (-1, "negative"),
        ("0", "no limit"),
        ("0GiB", "no limit"),
        (0, "no limit"),
        ("nan", "not a finite number"),
        ("inf", "not a finite number"),
        (float("nan"), "not a size"),
        (float("inf"), "not a size"),
        (True, "neither a size"),
        (False, "neither a size"),
        ("true", "not a size"),
        ("8Gbit", "bits"),
        ("8Gibit", "bits"),
        ("8Gbits", "bits"),
        ("8GiBGiB", "not a size"),
        ("14 14", "not a size"),
        ("8,5GiB", "comma"),
        ("8,589,934,592", "comma"),
        ("8iB", "not a size"),
        ("GiB", "not a size"),
        ("8XB", "not a size"),
        ("0x10", "not a size"),
        ("1_000_000_000", "not a size"),
        ("٨GiB", "ASCII"),
        ("8GiB\u00a0", "ASCII"),
        ("9223372036854775808", "more than"),
        ("1e999PB", "more than"),
        (1 << 63, "more than"),
        pytest.param(10**5000, "more than", id="5001 digits"),
        ("0%", "not above 0%"),
        ("101%", "not above 0%"),
        ("-5%", "negative"),
        ("50% of that", "not a size"),
        ("50%free", "not a size"),
        (None, "not a size"),
        (b"8GiB", "not a size"),
        ([1 << 30], "not a size"),
    ],
)
def test_everything_else_is_refused_with_the_reason(value, said):
    with pytest.raises(SizeError, match=said):
        parse_size(value)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("8192", '"8192MiB"'),
        (8192, '"8192MiB"'),
        ("1000 KB", "below the smallest size of 1 MiB"),
        (SMALLEST - 1, "below the smallest size of 1 MiB"),
        ("0.5", "fraction = 0.5"),
        (0.5, "fraction = 0.5"),
        ("1", "fraction = 1"),
        (8e9, "8000000000"),
        ("8e9", "8000000000"),
        ("8589934592.0", "8589934592"),
    ],
)
def test_a_refusal_says_what_to_write_instead(value, hint):
    with pytest.raises(SizeError) as caught:
        parse_size(value)
    assert hint in str(caught.value)


@given(st.integers(SMALLEST, LARGEST))
def test_a_size_in_bytes_is_read_back_from_its_own_text(amount):
    size = Size(bytes=amount)
    assert parse_size(str(size)) == size
    assert parse_size(exact(amount)).bytes == amount


@given(st.floats(0, 100, exclude_min=True), st.sampled_from(["total", "free"]))
def test_a_percentage_is_read_back_from_its_own_text(percent, of):
    size = Size(percent=percent, of=of)
    assert parse_size(str(size)) == size


@given(st.text(max_size=12) | st.from_regex(r"[-+0-9.eE]{0,6} ?[kMgTP]?i?[bB]?%?", fullmatch=True))
def test_no_text_makes_anything_but_a_size_or_a_size_error(text):
    try:
        size = parse_size(text)
    except SizeError:
        return
    assert size.percent is not None or SMALLEST <= size.bytes <= LARGEST


@pytest.mark.parametrize("size", [Size(bytes=5), Size(bytes=0), Size(bytes=-1), Size(percent=500.0)])
def test_a_size_made_by_hand_is_checked_like_any_other(size):
    with pytest.raises(SizeError):
        parse_size(size)


def test_numbers_that_count_as_whole_numbers_are_bytes():
    class Counted:
        def __index__(self):
            return GIB

    assert parse_size(Counted()) == Size(bytes=GIB)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (8 * GIB, "8 GiB"),
        (8 * GIB - 1, "8 GiB less 1 byte"),
        (GIB - 2, "1 GiB less 2 bytes"),
        (8 * GIB - MIB, "7.99 GiB"),
        (1638 * MIB, "1.6 GiB"),
        (GIB + MIB, "1 GiB"),
        (80 * 10**9, "74.51 GiB"),
    ],
)
def test_an_amount_for_people_is_never_rounded_up_to_the_next_unit(amount, text):
    assert human(amount) == text
