"""`configure` puts the policy into the frameworks' own settings, starts nothing and can be taken back."""

import importlib
import os
import sys
import threading

import pytest

import gpumem
from gpumem import Policy, PolicyError
from gpumem.plugin import hookimpl
from gpumem_core.sizes import GIB


@pytest.mark.usefixtures("numbat", "quokka")
def test_what_is_set_is_read_by_the_framework_when_it_starts():
    gpumem.configure(cap="8GiB", growth=True)
    module, other = importlib.import_module("numbat"), importlib.import_module("quokka")
    module.start()
    assert (module.limit, module.growth, other.fraction) == (8 * GIB, "1", 0.5)
    assert {row.state for row in gpumem.verify(strict=True, require=["numbat", "quokka"]).rows} == {"in_force"}


@pytest.mark.usefixtures("numbat", "quokka")
def test_configure_imports_nothing_and_starts_no_thread():
    threads, modules = threading.active_count(), set(sys.modules)
    gpumem.configure(cap="8GiB")
    assert threading.active_count() == threads
    assert not {"numbat", "quokka", "pynvml"} & (set(sys.modules) - modules)


@pytest.mark.usefixtures("numbat", "quokka")
def test_reset_restores_the_environment_exactly(environ, monkeypatch):
    monkeypatch.setenv("NUMBAT_GROWTH", "user's own")
    before, finders = environ(), list(sys.meta_path)
    gpumem.configure(cap="8GiB", growth=True, devices={1: {"cap": "2GiB"}})
    assert environ() != before
    assert sys.meta_path != finders
    assert gpumem.reset() == ()
    assert (environ(), sys.meta_path) == (before, finders)
    assert not gpumem.is_configured()


def test_reset_tells_what_cannot_be_taken_back(numbat, monkeypatch):
    monkeypatch.setattr(type(numbat), "gpumem_apply", _apply_for_good)
    gpumem.configure(cap="8GiB", devices={1: {"cap": "2GiB"}})
    importlib.import_module("numbat")
    (sentence,) = gpumem.reset()
    assert "numbat.set_device_limit(1, 2147483648) cannot be taken back" in sentence


@hookimpl
def _apply_for_good(_self, call, module):
    module.set_device_limit(call.arguments["device"], call.arguments["amount"])


@pytest.mark.usefixtures("numbat")
def test_reset_leaves_what_somebody_else_changed_since_and_says_so():
    gpumem.configure(cap="8GiB")
    os.environ["NUMBAT_LIMIT"] = "1"
    (sentence,) = gpumem.reset()
    assert "NUMBAT_LIMIT was changed by somebody else" in sentence
    assert os.environ.pop("NUMBAT_LIMIT") == "1"


@pytest.mark.usefixtures("numbat")
def test_a_change_by_somebody_else_before_the_start_is_reported():
    gpumem.configure(cap="8GiB")
    os.environ["NUMBAT_LIMIT"] = "1073741824"
    row = gpumem.verify().rows_of("numbat", "cap")[0]
    assert row.state == "differs"
    assert "'1073741824' now" in row.why
    with pytest.raises(gpumem.VerificationError, match="NUMBAT_LIMIT"):
        gpumem.verify(strict=True)
    del os.environ["NUMBAT_LIMIT"]


@pytest.mark.usefixtures("numbat")
def test_runtime_calls_are_made_after_the_import_and_taken_back_by_reset():
    gpumem.configure(cap="8GiB", devices={1: {"cap": "2GiB"}})
    module = importlib.import_module("numbat")
    assert module.device_limits == {1: 2 * GIB}
    row = next(row for row in gpumem.report().rows_of("numbat") if row.device == 1)
    assert (row.state, row.in_force) == ("in_force", 2 * GIB)
    gpumem.reset()
    assert module.device_limits == {}


@pytest.mark.usefixtures("numbat")
def test_a_framework_that_is_imported_but_not_started_is_not_too_late():
    module = importlib.import_module("numbat")
    gpumem.configure(cap="8GiB", devices={0: {"cap": "1GiB"}})
    assert module.device_limits == {0: GIB}
    module.start()
    assert module.limit == 8 * GIB


@pytest.mark.usefixtures("numbat")
def test_a_second_configure_replaces_the_arguments(environ):
    before = environ()
    gpumem.configure(cap="8GiB", growth=True)
    gpumem.configure(cap="4GiB")
    assert os.environ["NUMBAT_LIMIT"] == str(4 * GIB)
    assert "NUMBAT_GROWTH" not in os.environ
    gpumem.configure()
    assert environ() == before


@pytest.mark.usefixtures("numbat")
def test_the_same_configure_again_does_nothing_even_after_the_start():
    gpumem.configure(cap="8GiB", growth=True, devices={1: {"cap": "2GiB"}})
    module = importlib.import_module("numbat")
    module.start()
    first = gpumem.report()
    assert gpumem.configure(cap="8GiB", growth=True, devices={"1": {"cap": "2GiB"}}).rows == first.rows


@pytest.mark.usefixtures("numbat")
def test_a_later_change_that_is_still_possible_is_made_after_the_start():
    gpumem.configure(cap="8GiB", devices={1: {"cap": "2GiB"}})
    module = importlib.import_module("numbat")
    module.start()
    gpumem.configure(cap="8GiB", devices={1: {"cap": "3GiB"}})
    assert module.device_limits == {1: 3 * GIB}


@pytest.mark.usefixtures("numbat")
def test_configure_default_is_for_whoever_comes_first():
    gpumem.configure_default(cap="4GiB")
    gpumem.configure_default(cap="8GiB")
    assert os.environ["NUMBAT_LIMIT"] == str(4 * GIB)
    gpumem.configure(cap="2GiB")
    assert os.environ["NUMBAT_LIMIT"] == str(2 * GIB)


@pytest.mark.usefixtures("numbat")
def test_without_any_declaration_nothing_is_applied_and_nothing_is_said(environ):
    before, finders = environ(), list(sys.meta_path)
    report = gpumem.configure()
    assert (environ(), sys.meta_path, report.rows) == (before, finders, ())
    assert "no policy is declared anywhere" in report.notes[0]


@pytest.mark.usefixtures("numbat")
def test_a_policy_object_a_table_and_keywords_are_the_same():
    reports = []
    for call in (
        lambda: gpumem.configure(Policy(cap="8GiB", growth=True)),
        lambda: gpumem.configure({"cap": "8GiB", "growth": True}),
        lambda: gpumem.configure(cap="8GiB", growth=True),
    ):
        reports.append([(row.field, row.asked, row.set) for row in call().rows])
        gpumem.reset()
    assert reports[0] == reports[1] == reports[2]


@pytest.mark.usefixtures("numbat")
def test_a_size_in_place_of_a_policy_is_an_error_and_not_nothing():
    with pytest.raises(PolicyError, match="cap='8GiB'"):
        gpumem.configure("8GiB")


@pytest.mark.usefixtures("numbat")
def test_aliases_are_the_framework():
    gpumem.configure(frameworks={"nb": {"cap": "2GiB"}})
    assert os.environ["NUMBAT_LIMIT"] == str(2 * GIB)


@pytest.mark.usefixtures("numbat")
def test_a_framework_named_twice_by_name_and_alias_is_an_error():
    with pytest.raises(PolicyError, match="nb"):
        gpumem.configure(frameworks={"nb": {"cap": "2GiB"}, "numbat": {"cap": "3GiB"}})


@pytest.mark.usefixtures("numbat")
def test_an_unknown_framework_is_an_error_with_a_suggestion(environ):
    before = environ()
    with pytest.raises(PolicyError, match="did you mean numbat"):
        gpumem.configure(frameworks={"numbatt": {"cap": "2GiB"}})
    assert environ() == before


@pytest.mark.usefixtures("numbat")
def test_a_framework_that_is_not_installed_is_not_applicable(monkeypatch, environ):
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not p.endswith("invented")])
    importlib.invalidate_caches()
    before = environ()
    report = gpumem.configure(cap="8GiB")
    assert environ() == before
    assert {row.state for row in report.rows_of("numbat")} == {"not_applicable"}
    assert report.ok


@pytest.mark.usefixtures("numbat")
def test_options_and_allocators_that_a_framework_lacks_are_told_once():
    with pytest.warns(gpumem.GpumemWarning) as caught:
        gpumem.configure(cap="8GiB", frameworks={"numbat": {"allocator": "vmm", "options": {"x": 1}}})
    assert sorted(warning.message.code for warning in caught) == ["GM202", "GM202"]
    assert "numbat has no vmm allocator" in str([str(w.message) for w in caught])
    assert {r.state for r in gpumem.report().rows_of("numbat", "allocator")} == {"not_expressed"}


@pytest.mark.usefixtures("numbat")
def test_hidden_is_visible_nothing():
    gpumem.configure(frameworks={"numbat": "hidden"})
    assert os.environ["NUMBAT_VISIBLE"] == ""
