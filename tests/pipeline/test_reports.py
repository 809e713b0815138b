"""`report`, `explain` and `verify`: what was asked, set and is in force; asking changes nothing."""

import importlib
import json
import sys

import pytest
from numbat_plugin import NumbatPlugin

import gpumem
from gpumem import PolicyError, VerificationError
from gpumem.plugin import Answer, FrameworkState, hookimpl, register
from gpumem_core.plugins import registry
from gpumem_core.plugins.tested_range import VersionRange
from gpumem_core.sizes import GIB

ROW = ["framework", "device", "field", "asked", "set", "in_force", "state", "origin", "scope", "strength", "why"]


@pytest.mark.usefixtures("numbat", "quokka")
def test_the_json_of_schema_1_has_these_keys():
    gpumem.configure(cap="8GiB", growth=True, frameworks={"numbat": {"visible": [0]}})
    importlib.import_module("numbat").start()
    data = json.loads(gpumem.report().to_json())
    assert list(data) == ["schema", "policy", "devices", "ok", "rows", "notes"]
    assert data["schema"] == 1
    assert all(list(row) == ROW for row in data["rows"])
    assert all(set(entry) == {"value", "origin"} for entry in data["policy"].values())
    assert data["policy"]["frameworks.numbat.visible"]["value"] == [0]
    assert data["devices"][0] == {"ordinal": 0, "uuid": None, "name": "assumed", "total": 16 * GIB, "source": "assumed"}


@pytest.mark.usefixtures("numbat")
def test_amounts_that_were_read_back_are_bytes():
    gpumem.configure(cap="8GiB")
    importlib.import_module("numbat").start()
    (row,) = json.loads(gpumem.report().to_json())["rows"]
    assert (row["asked"], row["in_force"], row["state"]) == ("8GiB", 8 * GIB, "in_force")


@pytest.mark.usefixtures("numbat")
def test_a_report_before_configure_shows_what_the_sources_say(monkeypatch, environ):
    monkeypatch.setenv("GPUMEM_CAP", "4GiB")
    before, finders = environ(), list(sys.meta_path)
    report = gpumem.report()
    assert report.policy["cap"] == {"value": "4GiB", "origin": "environment GPUMEM_CAP"}
    assert [row.state for row in report.rows] == ["planned"]
    assert (environ(), sys.meta_path) == (before, finders)
    assert not gpumem.is_configured()


@pytest.mark.usefixtures("numbat", "quokka", "bilby")
def test_explaining_changes_nothing(environ):
    before, finders, modules = environ(), list(sys.meta_path), set(sys.modules)
    report = gpumem.explain(cap="8GiB", growth=True, devices={1: {"cap": "1GiB"}})
    assert {row.state for row in report.rows} == {"planned", "not_expressed"}
    assert (environ(), sys.meta_path) == (before, finders)
    assert not {"numbat", "quokka"} & (set(sys.modules) - modules)
    assert not gpumem.is_configured()


@pytest.mark.usefixtures("numbat")
def test_explaining_another_policy_leaves_the_one_in_force(environ):
    gpumem.configure(cap="8GiB")
    before = environ()
    assert gpumem.explain(cap="1GiB").rows_of("numbat")[0].set == "NUMBAT_LIMIT=1073741824"
    assert environ() == before
    assert gpumem.report().rows_of("numbat")[0].asked == "8GiB"


@pytest.mark.usefixtures("numbat", "quokka")
def test_explaining_a_conflict_says_what_configure_would_say():
    with pytest.raises(PolicyError, match="did you mean fraction"):
        gpumem.explain(fracton=0.5)


@pytest.mark.usefixtures("numbat", "quokka")
def test_the_text_of_a_report_is_short_and_complete():
    gpumem.configure(cap="8GiB", growth=True)
    text = str(gpumem.report())
    assert len(text.splitlines()) <= 12
    for part in (
        "cap=8GiB",
        "test_reports.py:",
        "16 GiB",
        "NUMBAT_LIMIT=8589934592",
        "pending",
        "until numbat is imported",
    ):
        assert part in text, part


@pytest.mark.usefixtures("numbat")
def test_sizes_taken_ahead_are_shown_as_they_were_written():
    report = gpumem.explain(cap="8GiB", preallocate="1GiB")
    assert report.rows_of("numbat", "preallocate")[0].asked == "1GiB"


@pytest.mark.usefixtures("numbat")
def test_what_a_stronger_source_replaced_is_not_shown_as_the_policy(monkeypatch):
    monkeypatch.setenv("GPUMEM_FRACTION", "0.25")
    report = gpumem.explain(cap="8GiB", growth=True)
    assert set(report.policy) == {"fraction", "preallocate"}


@pytest.mark.usefixtures("numbat")
def test_every_value_knows_its_origin(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem]\non-late = "warn"\n')
    monkeypatch.setenv("GPUMEM_CAP", "4GiB")
    origins = {key: entry["origin"] for key, entry in gpumem.explain(growth=True).policy.items()}
    assert origins["cap"] == "environment GPUMEM_CAP"
    assert origins["preallocate"].startswith("test_reports.py:")
    assert origins["on_late"] == f"{tmp_path}/pyproject.toml: tool.gpumem.on-late"
    assert f"configuration file: {tmp_path}/pyproject.toml" in gpumem.explain().notes


@pytest.mark.usefixtures("numbat")
def test_verify_is_strict_only_when_asked():
    gpumem.configure(cap="8GiB")
    module = importlib.import_module("numbat")
    module.start()
    assert gpumem.verify(strict=True).ok
    module.limit = 9 * GIB
    report = gpumem.verify()
    assert not report.ok
    assert report.rows_of("numbat", "cap")[0].state == "differs"
    with pytest.raises(VerificationError, match=r"numbat: cap asked 8GiB .*differs") as caught:
        gpumem.verify(strict=True)
    assert [row.field for row in caught.value.rows] == ["cap"]


@pytest.mark.parametrize("limit", [0, -1, 1 << 62])
@pytest.mark.usefixtures("numbat")
def test_a_limit_of_nothing_or_without_end_is_no_limit(limit):
    gpumem.configure(cap="8GiB")
    module = importlib.import_module("numbat")
    module.start()
    module.limit = limit
    assert gpumem.verify().rows_of("numbat", "cap")[0].state == "differs"


@pytest.mark.usefixtures("numbat")
def test_a_required_framework_must_have_started():
    gpumem.configure(cap="8GiB")
    assert gpumem.verify(strict=True).ok
    assert gpumem.verify(require=["numbat"]).ok
    with pytest.raises(VerificationError, match="pending"):
        gpumem.verify(require=["nb"], strict=True)


@pytest.mark.usefixtures("numbat")
def test_one_name_may_be_required_as_a_text():
    gpumem.configure(cap="8GiB")
    assert gpumem.verify(require="numbat").ok


@pytest.mark.usefixtures("numbat")
def test_requiring_an_unknown_framework_is_an_error():
    gpumem.configure(cap="8GiB")
    with pytest.raises(PolicyError, match=r"require=wombat.*no plugin of this name.*numbat"):
        gpumem.verify(require=["wombat"])


@pytest.mark.usefixtures("numbat")
def test_requiring_anything_before_configure_is_an_error():
    with pytest.raises(PolicyError, match="no policy for it is configured"):
        gpumem.verify(require=["numbat"])


def test_a_cap_below_what_is_held_already_is_exceeded(numbat):
    from gpumem.plugin import Observation, hookimpl

    class Holding(type(numbat)):
        @hookimpl
        def gpumem_observe(self):
            return (Observation("limit", None, 8 * GIB, "numbat.limit", held=9 * GIB),)

    gpumem.reset()
    register(Holding())
    gpumem.configure(cap="8GiB")
    importlib.import_module("numbat")
    row = gpumem.verify().rows_of("numbat", "cap")[0]
    assert row.state == "exceeded"
    assert f"{9 * GIB} bytes" in row.why or "9 GiB" in row.why


@pytest.mark.usefixtures("numbat")
def test_notes_tell_of_a_framework_without_its_plugin(monkeypatch):
    from gpumem_core.plugins import registry

    monkeypatch.setattr(registry, "candidate_frameworks", lambda: {"quokka": "gpumem-quokka"})
    assert "quokka is installed without its plugin: pip install gpumem-quokka" in gpumem.explain(cap="8GiB").notes


@pytest.mark.usefixtures("numbat")
def test_a_framework_without_its_plugin_is_told_when_it_is_imported(monkeypatch):
    from gpumem_core.plugins import registry

    monkeypatch.setattr(registry, "candidate_frameworks", lambda: {"quokka": "gpumem-quokka"})
    gpumem.configure(cap="8GiB")
    with pytest.warns(gpumem.GpumemWarning, match="GM204.*pip install gpumem-quokka") as caught:
        importlib.import_module("quokka")
    assert len(caught) == 1


@pytest.mark.usefixtures("numbat")
def test_without_a_policy_no_import_is_told_of(monkeypatch):
    from gpumem_core.plugins import registry

    monkeypatch.setattr(registry, "candidate_frameworks", lambda: {"quokka": "gpumem-quokka"})
    gpumem.configure()
    importlib.import_module("quokka")
    gpumem.reset()
    gpumem.configure()


@pytest.mark.usefixtures("numbat")
def test_an_ignored_code_is_not_told(monkeypatch):
    from gpumem_core.plugins import registry

    monkeypatch.setattr(registry, "candidate_frameworks", lambda: {"quokka": "gpumem-quokka"})
    gpumem.configure(cap="8GiB", ignore=["gm204"])
    importlib.import_module("quokka")


@pytest.mark.usefixtures("numbat")
def test_a_row_shows_what_was_asked_for_its_own_devices():
    report = gpumem.explain(cap="8GiB", devices={1: {"cap": "2GiB"}})
    assert [(row.device, row.field, row.asked) for row in report.rows] == [(None, "cap", "8GiB"), (1, "cap", "2GiB")]
    (row,) = gpumem.explain(cap="8GiB", fraction=0.25).rows
    assert (row.field, row.asked) == ("cap", "8GiB, fraction=0.25")
    assert "cap=8GiB, fraction=0.25 " in str(gpumem.explain(cap="8GiB", fraction=0.25))


@pytest.mark.usefixtures("numbat")
def test_a_cap_above_the_device_and_a_device_that_is_not_there_are_notes():
    notes = gpumem.explain(cap="100GiB", frameworks={"numbat": {"visible": [0, 5]}}).notes
    assert any("cap=100GiB" in note and "is more than the 16 GiB of device 1" in note for note in notes)
    assert any("visible=[0, 5]" in note and note.endswith("not there: 5") for note in notes)


@pytest.mark.usefixtures("numbat")
def test_a_required_framework_of_which_nothing_is_asked_is_not_in_force():
    gpumem.configure(frameworks={"numbat": {"on_late": "warn"}})
    with pytest.raises(gpumem.VerificationError, match="the policy asks nothing of it"):
        gpumem.verify(require=["numbat"], strict=True)


def test_a_report_before_configure_shows_the_faults_instead_of_raising(monkeypatch):
    monkeypatch.setenv("GPUMEM_CAP", "8 gibibytes")
    report = gpumem.report()
    assert [(row.framework, row.field, row.state) for row in report.rows] == [("policy", "GPUMEM_CAP", "failed")]
    assert not report.ok


@pytest.mark.usefixtures("numbat")
def test_an_unknown_code_to_ignore_is_mentioned():
    assert any("there is no warning GM999" in note for note in gpumem.configure(cap="8GiB", ignore=["GM999"]).notes)


@pytest.mark.usefixtures("numbat")
def test_a_row_names_where_its_own_field_was_declared(monkeypatch):
    monkeypatch.setenv("GPUMEM_GROWTH", "true")
    rows = {row.field: row.origin for row in gpumem.configure(cap="8GiB").rows}
    assert rows["preallocate"] == "environment GPUMEM_GROWTH"
    assert rows["cap"].startswith("test_reports.py:")


def test_a_version_outside_of_the_tested_range_is_called_untested(monkeypatch):
    """The policy is applied and read back all the same, and the report says that nobody tried this version."""

    class OfTheFuture(NumbatPlugin):
        @hookimpl
        def gpumem_state(self):
            return FrameworkState({"numbat": "2.1"}, imported=Answer.YES)

    register(OfTheFuture())
    monkeypatch.setattr(registry, "version_ranges", lambda _: (VersionRange("numbat", "<2,>=1.2"),))
    report = gpumem.configure(cap="4GiB")
    untested = "numbat: untested with numbat 2.1 (tested: <2,>=1.2); it is applied and read back all the same"
    assert untested in report.notes
    assert report.rows_of("numbat", "cap")[0].state == "pending"
