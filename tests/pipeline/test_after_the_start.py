"""What a framework has read already cannot be taken back, and is not claimed to be."""

import importlib

import pytest

import gpumem
from gpumem import GpumemWarning, LateInitialisationError, VerificationError
from gpumem_core.sizes import GIB


@pytest.fixture
def running(numbat):
    """A numbat that was configured in time and has started."""
    assert numbat
    gpumem.configure(cap="8GiB")
    module = importlib.import_module("numbat")
    module.start()
    return module


def test_reset_tells_what_the_framework_has_read_already(running, environ):
    (sentence,) = gpumem.reset()
    assert sentence == "numbat has started with NUMBAT_LIMIT and keeps it until the process ends"
    assert running.limit == 8 * GIB
    assert "NUMBAT_LIMIT" not in environ()


def test_dropping_a_setting_after_the_start_is_too_late(running, environ):
    before = environ()
    with pytest.raises(LateInitialisationError, match="numbat"):
        gpumem.configure(growth=True, frameworks={"numbat": {"on_late": "error"}})
    assert environ() == before
    assert running.limit == 8 * GIB
    assert gpumem.verify(strict=True).ok


@pytest.mark.usefixtures("running")
def test_dropping_a_setting_after_the_start_may_be_a_warning():
    with pytest.warns(GpumemWarning, match="GM201"):
        gpumem.configure(on_late="warn", devices={1: {"cap": "2GiB"}})


@pytest.mark.usefixtures("running")
def test_a_required_framework_has_something_in_force():
    assert gpumem.verify(require=["numbat"], strict=True).ok


@pytest.mark.usefixtures("numbat", "quokka")
def test_a_framework_of_which_nothing_is_asked_cannot_be_required():
    gpumem.configure(frameworks={"numbat": {"cap": "8GiB"}})
    with pytest.raises(VerificationError, match="quokka"):
        gpumem.verify(require=["quokka"], strict=True)


@pytest.mark.usefixtures("numbat")
def test_a_report_shows_the_faults_of_a_policy_that_cannot_be_read(monkeypatch):
    monkeypatch.setenv("GPUMEM_CAP", "8 gigs")
    report = gpumem.report()
    assert not report.ok
    assert "environment GPUMEM_CAP" in [row.origin for row in report.rows]


@pytest.mark.usefixtures("numbat")
@pytest.mark.parametrize("name", ["GPUMEM_DISABLE", "GPUMEM_PLUGINS", "GPUMEM_REPORT", "GPUMEM_STATE"])
def test_a_variable_of_a_later_version_is_a_warning_that_says_so(monkeypatch, name):
    monkeypatch.setenv(name, "1")
    with pytest.warns(GpumemWarning, match=f"GM102.*{name} has no effect in this version"):
        gpumem.configure(cap="8GiB")
