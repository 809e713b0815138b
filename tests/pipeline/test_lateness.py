"""What comes too late is an error that says everything, and changes nothing; or a warning, or silence, as asked."""

import importlib
import os
from types import SimpleNamespace

import pytest

import gpumem
from gpumem import GpumemWarning, LateInitialisationError
from gpumem_core.model.plan import Deadline
from gpumem_core.sizes import GIB


@pytest.mark.usefixtures("numbat", "quokka")
def test_one_error_lists_every_late_setting_and_nothing_is_changed(started, environ):
    importlib.import_module("quokka")
    before = environ()
    with pytest.raises(LateInitialisationError) as caught:
        gpumem.configure(cap="8GiB", growth=True, allocator="pool", devices={1: {"cap": "1GiB"}})
    assert environ() == before
    assert started.device_limits == {}
    assert not gpumem.is_configured()
    late = [(step.framework, *step.fields) for step in caught.value.late]
    assert late == [("numbat", "limit"), ("numbat", "preallocate"), ("quokka", "limit")]


@pytest.mark.usefixtures("numbat", "started")
def test_the_message_says_what_where_from_what_is_in_force_and_what_to_do():
    with pytest.raises(LateInitialisationError) as caught:
        gpumem.configure(cap="8GiB")
    text = str(caught.value)
    for part in (
        "nothing was changed",
        "numbat: cap=8GiB by NUMBAT_LIMIT=8589934592",
        "test_lateness.py:",
        "the framework has started",
        "numbat.started is True",
        "in force is limit 0",
        "Call gpumem.configure() before numbat is first used",
        'on_late to "warn"',
    ):
        assert part in text, part


@pytest.mark.usefixtures("numbat", "quokka")
def test_an_error_leaves_an_earlier_policy_as_it_was(environ):
    gpumem.configure(cap="8GiB")
    importlib.import_module("numbat").start()
    before, rows = environ(), gpumem.report().rows
    with pytest.raises(LateInitialisationError):
        gpumem.configure(cap="4GiB")
    assert (environ(), gpumem.report().rows) == (before, rows)


@pytest.mark.usefixtures("numbat")
def test_what_is_in_force_already_is_not_late(monkeypatch):
    monkeypatch.setenv("NUMBAT_LIMIT", str(8 * GIB))
    importlib.import_module("numbat").start()
    report = gpumem.configure(cap="8GiB")
    assert report.rows_of("numbat", "cap")[0].state == "in_force"


@pytest.mark.usefixtures("numbat")
def test_a_tighter_limit_than_asked_is_still_late(monkeypatch):
    monkeypatch.setenv("NUMBAT_LIMIT", str(4 * GIB))
    importlib.import_module("numbat").start()
    with pytest.raises(LateInitialisationError):
        gpumem.configure(cap="8GiB")


@pytest.mark.usefixtures("numbat")
def test_in_warn_mode_the_late_setting_is_left_out_and_the_rest_is_applied(started):
    with pytest.warns(GpumemWarning, match="GM201.*NUMBAT_LIMIT") as caught:
        report = gpumem.configure(cap="8GiB", on_late="warn", devices={1: {"cap": "1GiB"}})
    assert len(caught) == 1
    assert "NUMBAT_LIMIT" not in os.environ
    assert started.device_limits == {1: GIB}
    assert [row.state for row in report.rows_of("numbat", "cap")] == ["late", "in_force"]
    assert not report.ok
    with pytest.raises(gpumem.VerificationError):
        gpumem.verify(strict=True)


@pytest.mark.usefixtures("numbat", "started")
def test_in_ignore_mode_nothing_is_said():
    report = gpumem.configure(cap="8GiB", on_late="ignore")
    assert report.rows_of("numbat", "cap")[0].state == "late"


@pytest.mark.usefixtures("numbat", "quokka", "started")
def test_the_reaction_may_differ_by_framework():
    importlib.import_module("quokka")
    with pytest.raises(LateInitialisationError) as caught:
        gpumem.configure(cap="8GiB", frameworks={"numbat": {"on_late": "ignore"}})
    assert {step.framework for step in caught.value.late} == {"quokka"}


@pytest.mark.usefixtures("numbat")
def test_a_warning_turned_into_an_error_comes_before_the_first_change(started, environ):
    before = environ()
    with pytest.raises(GpumemWarning):
        gpumem.configure(cap="8GiB", on_late="warn", devices={1: {"cap": "1GiB"}})
    assert environ() == before
    assert started.device_limits == {}
    assert not gpumem.is_configured()


@pytest.mark.usefixtures("numbat")
def test_unknown_lateness_warns_and_attempts(monkeypatch):
    monkeypatch.setattr(importlib.import_module("numbat"), "started", None)
    with pytest.warns(GpumemWarning, match=r"GM201.*is unknown \(numbat.started is None\)"):
        gpumem.configure(cap="8GiB")
    assert os.environ["NUMBAT_LIMIT"] == str(8 * GIB)


@pytest.mark.usefixtures("numbat")
def test_unknown_lateness_is_not_told_to_who_ignores_lateness(monkeypatch):
    monkeypatch.setattr(importlib.import_module("numbat"), "started", None)
    gpumem.configure(cap="8GiB", on_late="ignore")
    assert os.environ["NUMBAT_LIMIT"] == str(8 * GIB)


@pytest.mark.usefixtures("numbat", "started")
def test_a_dry_run_shows_a_late_setting_as_a_row(environ):
    before = environ()
    report = gpumem.explain(cap="8GiB", devices={1: {"cap": "1GiB"}})
    states = {(row.device, row.state) for row in report.rows_of("numbat", "cap")}
    assert states == {(None, "late"), (1, "planned")}
    assert environ() == before


@pytest.mark.usefixtures("numbat")
def test_a_dry_run_keeps_settings_apart_whose_texts_begin_alike(started):
    """A late NUMBAT_LIMIT=1... must not make NUMBAT_LIMIT=1...0 late."""
    started.limit = 2 * GIB
    report = gpumem.explain(cap="2GiB", growth=True)
    assert {row.field: row.state for row in report.rows_of("numbat")} == {"cap": "planned", "preallocate": "late"}


@pytest.mark.usefixtures("numbat")
def test_deadlines_differ_by_setting():
    importlib.import_module("numbat")
    with pytest.raises(LateInitialisationError) as caught:
        gpumem.configure(cap="8GiB", allocator="managed")
    (step,) = caught.value.late
    assert step.fields == ("allocator",)
    assert "before numbat is imported" in str(caught.value)


@pytest.mark.usefixtures("numbat")
def test_a_module_that_initialises_counts_as_not_imported(monkeypatch):
    import sys

    from gpumem_core.applying.import_watch import fully_imported

    module = importlib.import_module("numbat")
    assert fully_imported("numbat") is module
    monkeypatch.setattr(module, "__spec__", SimpleNamespace(_initializing=True))
    assert fully_imported("numbat") is None
    assert "numbat" in sys.modules
    assert Deadline.IMPORT is not Deadline.START


@pytest.mark.usefixtures("numbat")
def test_a_setting_that_a_later_policy_drops_after_the_start_is_too_late_to_take_back(environ):
    gpumem.configure(cap="8GiB", growth=True)
    importlib.import_module("numbat").start()
    before = environ()
    with pytest.raises(LateInitialisationError, match=r"to take back cap=8GiB by NUMBAT_LIMIT=8589934592"):
        gpumem.configure(growth=True)
    assert environ() == before
    with pytest.warns(GpumemWarning, match="GM201.*to take back cap=8GiB"):
        gpumem.configure(growth=True, on_late="warn")


@pytest.mark.usefixtures("numbat")
def test_a_setting_that_a_later_policy_drops_before_the_start_is_taken_back():
    gpumem.configure(cap="8GiB", growth=True)
    gpumem.configure(growth=True)
    assert "NUMBAT_LIMIT" not in os.environ
