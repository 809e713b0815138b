"""The user's own CUPY_GPU_MEMORY_LIMIT is read as CuPy reads it."""

from __future__ import annotations

import pytest

from gpumem.plugin import NativeFault, NativeSetting, Size
from gpumem_cupy.native import read_variables

NAME = "CUPY_GPU_MEMORY_LIMIT"
V13, V14 = {"cupy-cuda12x": "13.3.0"}, {"cupy-cuda13x": "14.2.0"}


def fault(text: str, versions: dict[str, str]) -> NativeFault:
    (found,) = read_variables({NAME: text}, versions).faults
    assert (found.variable, found.text) == (NAME, text)
    return found


def setting(text: str, versions: dict[str, str]) -> NativeSetting:
    (found,) = read_variables({NAME: text}, versions).settings
    return found


def test_an_unset_variable_decides_nothing() -> None:
    """Without the variable there is nothing to read."""
    reading = read_variables({"CUPY_OTHER": "1"}, V14)
    assert (reading.settings, reading.faults) == ((), ())


@pytest.mark.parametrize(
    ("text", "amount"), [("1073741824", 1 << 30), (" 100 ", 100), ("1_000_000", 1000000), ("+5", 5)]
)
def test_a_whole_number_is_a_cap_in_bytes(text: str, amount: int) -> None:
    """What int() reads, CuPy reads."""
    found = setting(text, V14)
    assert (found.field, found.value, found.device) == ("cap", Size(bytes=amount), None)
    assert read_variables({NAME: text}, V14).faults == ()


@pytest.mark.parametrize(("text", "share"), [("50%", 0.5), ("50 %", 0.5), ("100%", 1.0), ("1e1%", 0.1)])
def test_a_percentage_is_a_fraction_of_the_total(text: str, share: float) -> None:
    """Before CuPy 14 it is each device's own total, so nothing is wrong with it."""
    found = setting(text, V13)
    assert (found.field, found.value) == ("fraction", share)
    assert read_variables({NAME: text}, V13).faults == ()


@pytest.mark.parametrize("versions", [V14, {}, {"cupy": "15.0.0a1"}])
def test_a_percentage_misleads_since_cupy_14(versions: dict[str, str]) -> None:
    """It is taken of the device that is current at the first use; unknown versions are taken for new ones."""
    assert setting("50%", versions).value == 0.5
    found = fault("50%", versions)
    assert not found.fatal
    assert "unequal cards" in found.problem


@pytest.mark.parametrize(
    "text", ["", "1GiB", "1e9", "0.5", "abc", "-5", str(1 << 64), "%", "x%", "150%", "-1%", "nan%", "inf%"]
)
def test_what_makes_cupy_raise_is_fatal(text: str) -> None:
    """The pool raises at its first use and at each later one; no setting is read from it."""
    assert fault(text, V13).fatal
    assert "raises an error at the first use" in fault(text, V13).problem
    assert read_variables({NAME: text}, V13).settings == ()


@pytest.mark.parametrize("text", ["0", "0%", str(1 << 63)])
def test_what_limits_nothing_is_no_limit_and_misleading(text: str) -> None:
    """CuPy's 0 means none: it is read as an explicit wish for no limit, and told."""
    assert setting(text, V13).value is None
    assert not fault(text, V13).fatal
