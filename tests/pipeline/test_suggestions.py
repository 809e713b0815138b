"""`prefer`: fills what nobody says, changes nothing by itself, and never makes the application fail."""

import importlib
import os

import pytest

import gpumem
from gpumem import PolicyError
from gpumem_core.sizes import GIB


@pytest.mark.usefixtures("numbat")
def test_a_suggestion_alone_does_nothing(environ):
    before = environ()
    gpumem.prefer(cap="4GiB")
    assert environ() == before
    assert not gpumem.is_configured()


@pytest.mark.usefixtures("numbat")
def test_a_suggestion_fills_what_nobody_says():
    gpumem.prefer(cap="4GiB", growth=True)
    report = gpumem.configure(cap="8GiB")
    assert os.environ["NUMBAT_LIMIT"] == str(8 * GIB)
    assert os.environ["NUMBAT_GROWTH"] == "1"
    assert "gpumem.prefer() in " in report.policy["preallocate"]["origin"]


@pytest.mark.usefixtures("numbat")
def test_a_suggestion_after_configure_is_followed_while_in_time():
    gpumem.configure(cap="8GiB")
    gpumem.prefer(growth=True)
    assert os.environ["NUMBAT_GROWTH"] == "1"
    gpumem.reset()
    assert "NUMBAT_GROWTH" not in os.environ


@pytest.mark.usefixtures("numbat")
def test_a_suggestion_that_comes_too_late_is_left_out_without_a_word():
    gpumem.configure(cap="8GiB")
    importlib.import_module("numbat").start()
    gpumem.prefer(growth=True)
    assert "NUMBAT_GROWTH" not in os.environ
    assert gpumem.verify(strict=True).ok


@pytest.mark.usefixtures("numbat")
def test_a_suggestion_that_is_late_before_configure_does_not_fail_the_application(started):
    gpumem.prefer(growth=True)
    report = gpumem.configure(devices={1: {"cap": "2GiB"}})
    assert started.device_limits == {1: 2 * GIB}
    assert report.ok
    assert any("suggestion" in note for note in report.notes)


# Ids are numbers: an object's own text is another one in each process, and processes share the tests among them.
BAD = [
    {"cap": "8 gigs"},
    {"nonsense": 1},
    {"preallocate": True},
    {"fraction": 4.0},
    {"frameworks": {"wombat": {"cap": "1GiB"}}},
    {"devices": {"GPU-0a": {"cap": "1GiB"}}},
    {"cap": "0.00001%"},
    {"cap": object()},
]


@pytest.mark.parametrize("fields", BAD, ids=range(len(BAD)))
@pytest.mark.usefixtures("numbat")
def test_a_bad_suggestion_is_left_out_with_a_note(fields):
    gpumem.prefer(**fields)
    report = gpumem.configure(on_late="warn")
    assert any("a suggestion is left out" in note for note in report.notes), report.notes
    assert "NUMBAT_LIMIT" not in os.environ


@pytest.mark.parametrize("fields", BAD, ids=range(len(BAD)))
@pytest.mark.usefixtures("numbat")
def test_a_bad_suggestion_after_configure_never_raises(fields):
    gpumem.configure(growth=True)
    gpumem.prefer(**fields)
    assert os.environ["NUMBAT_GROWTH"] == "1"


@pytest.mark.usefixtures("bilby")
def test_a_limit_that_a_library_suggests_and_nothing_can_hold_is_left_out():
    importlib.import_module("bilby")
    gpumem.prefer(cap="1GiB", frameworks={"bilby": {"allocator": "pool"}})
    report = gpumem.configure(on_late="warn")
    assert any("a suggestion is left out" in note for note in report.notes)


@pytest.mark.usefixtures("numbat")
def test_the_applications_own_fault_is_still_an_error():
    gpumem.prefer(fraction=4.0)
    with pytest.raises(PolicyError, match="is more than the whole device") as caught:
        gpumem.configure(fraction=2.0)
    assert len(caught.value.faults) == 1
