"""A warning comes once, at the user's own line, and never raises from where it must not."""

import logging
import warnings

import pytest

from gpumem_core import state
from gpumem_core.applying.announce import announce, users_place
from gpumem_core.warnings import CODES, GpumemWarning


@pytest.fixture(autouse=True)
def fresh():
    """Forget what was warned of."""
    yield
    state.forget()


def test_a_warning_comes_once():
    with pytest.warns(GpumemWarning) as caught:
        [announce("GM101", text) for text in ("one", "one", "two")]
    assert [str(w.message) for w in caught] == ["GM101: one", "GM101: two"]


def test_it_points_at_the_line_of_the_user():
    with pytest.warns(GpumemWarning) as caught:
        announce("GM101", "here")
    assert caught[0].filename == __file__


def test_an_ignored_code_is_silent():
    announce("GM101", "text", ("GM101",))


def test_a_filter_of_the_user_is_respected():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="GM101")
        announce("GM101", "text")


def test_a_deferred_warning_is_logged_where_it_would_raise(caplog):
    with caplog.at_level(logging.ERROR, logger="gpumem"):
        announce("GM101", "text", deferred=True)
    assert "GM101: text" in caplog.text
    with pytest.raises(GpumemWarning):
        announce("GM101", "other")


def test_a_code_must_be_known():
    with pytest.raises(KeyError):
        GpumemWarning("GM999", "x")
    assert all(meaning and not meaning.endswith(".") for meaning in CODES.values())


def test_the_users_place_is_a_file_and_a_line():
    name, line = users_place().split(":")
    assert name == "test_announce.py"
    assert line.isdigit()
