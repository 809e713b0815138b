"""Whether a framework's version is among those that its plugin is tested with."""

from __future__ import annotations

import pytest

from gpumem_core.plugins.tested_range import VersionRange, read_ranges, untested, version_ranges

METADATA = (
    "gpumem-core<1,>=0.1",
    'numbat<2,>=1.2.3; extra == "framework"',
    'Numbat_Cuda13 (>=1.2,<2); extra == "framework-cuda13"',
    'pytest>=8; extra == "test"',
)


def test_only_the_extras_called_framework_name_a_tested_range() -> None:
    """Other requirements and other extras of a plugin say nothing about its framework."""
    assert read_ranges(METADATA) == (VersionRange("numbat", "<2,>=1.2.3"), VersionRange("numbat-cuda13", ">=1.2,<2"))


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.2.3", True),
        ("1.2.3.0", True),
        ("1.10", True),
        ("1.99+cu124", True),
        ("1.2.2", False),
        ("1.2", False),
        ("2", False),
        ("2.0.0", False),
        ("2.0.0.dev20261201", False),
        ("unknown", None),
    ],
)
def test_a_version_is_compared_number_by_number(version: str, expected: bool | None) -> None:
    """1.10 is later than 1.2.3, zeros at the end do not count, and what cannot be read is unknown."""
    assert VersionRange("numbat", "<2,>=1.2.3").includes(version) is expected


@pytest.mark.parametrize("text", ["~=1.2", "!=1.3,<2", ""])
def test_a_range_that_cannot_be_read_is_unknown(text: str) -> None:
    """Nothing is called untested because of a bound of another kind."""
    assert VersionRange("numbat", text).includes("9") is None
    assert untested([VersionRange("numbat", text)], {"numbat": "9"}) == ""


def test_the_installed_distribution_is_the_one_that_counts() -> None:
    """Of several distributions that provide a framework, the installed one is compared, whatever its spelling."""
    ranges = read_ranges(METADATA)
    assert untested(ranges, {"numbat-cuda13": "2.1"}) == "numbat-cuda13 2.1 (tested: >=1.2,<2)"
    assert untested(ranges, {"NUMBAT": "2.1"}) == "NUMBAT 2.1 (tested: <2,>=1.2.3)"
    assert untested(ranges, {"numbat": "1.9"}) == ""
    assert untested(ranges, {}) == ""


def test_a_plugin_without_metadata_has_no_range() -> None:
    """A plugin that is registered by code, or lives in a frozen application, is not called untested."""
    assert version_ranges("registered by code") == ()
