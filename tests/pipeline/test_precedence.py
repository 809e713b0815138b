"""For each framework, device and setting the strongest source that says anything decides."""

import importlib
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpumem
from gpumem import GpumemWarning, Policy, PolicyError
from gpumem_core import suggestions
from gpumem_core.sizes import GIB

# The sources from the strongest to the weakest, as they are written below.
SOURCES = ("environment", "arguments", "file", "suggestion")
PLACES = ("framework_device", "framework", "device", "top")
LIMITS = st.none() | st.sampled_from(["1GiB", "2GiB", "3GiB", "4GiB", "none", 0.25, 0.5])


def table_of(places):
    """Return a policy table from the limits at the four places."""
    leaf = {place: ({"fraction": v} if isinstance(v, float) else {"cap": v}) for place, v in places.items() if v}
    table = dict(leaf.get("top", {}))
    if "device" in leaf:
        table["devices"] = {"0": leaf["device"]}
    framework = dict(leaf.get("framework", {}))
    if "framework_device" in leaf:
        framework["devices"] = {"0": leaf["framework_device"]}
    if framework:
        table["frameworks"] = {"numbat": framework}
    return table


def expected(said, places):
    """Return the value that must decide: by source first, by place then."""
    for source in SOURCES:
        for place in places:
            value = said[source][place]
            if value:
                return value
    return None


def toml(value):
    return f'"{value}"' if isinstance(value, str) else repr(value)


def as_toml(table, prefix="tool.gpumem"):
    lines = [f"[{prefix}]"] + [f"{k} = {toml(v)}" for k, v in table.items() if not isinstance(v, dict)]
    for key, inner in table.items():
        if isinstance(inner, dict):
            lines += as_toml(inner, f'{prefix}."{key}"')
    return lines


def as_variables(table, prefix="GPUMEM"):
    found = {}
    for key, value in table.items():
        name = f"{prefix}{'_' if prefix == 'GPUMEM' else '__'}{key.upper()}"
        found.update(as_variables(value, name) if isinstance(value, dict) else {name: str(value)})
    return found


EACH_PLACE = st.fixed_dictionaries(dict.fromkeys(PLACES, LIMITS))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.fixed_dictionaries(dict.fromkeys(SOURCES, EACH_PLACE)))
@pytest.mark.usefixtures("numbat")
def test_the_strongest_source_and_then_the_most_specific_place_decide_each_leaf(tmp_path, said):
    from gpumem_core import pipeline
    from gpumem_core.declarations.arguments import read_arguments
    from gpumem_core.sizes import parse_size

    (tmp_path / "pyproject.toml").write_text("\n".join(as_toml(table_of(said["file"]))))
    suggestions.forget()
    suggestions.prefer(**table_of(said["suggestion"]))
    environ = {"GPUMEM_ASSUME_DEVICES": "2x16GiB", **as_variables(table_of(said["environment"]))}
    arguments = read_arguments(Policy.from_mapping(table_of(said["arguments"])), {}, "train.py:3")
    decision = pipeline.decide(pipeline.collect(arguments, environ), environ)
    suggestions.forget()
    for ordinal, places in ((0, PLACES), (1, ("framework", "top"))):
        value = expected(said, places)
        budget = decision.frameworks[0].budgets.of(ordinal) if decision.frameworks else None
        limit = budget.limit_bytes if budget else None
        if value in (None, "none"):
            assert limit is None
            assert bool(budget and budget.unlimited) == (value == "none")
        else:
            assert limit == (int(value * 16 * GIB) if isinstance(value, float) else parse_size(value).bytes)


@pytest.mark.usefixtures("numbat")
def test_whoever_launches_has_the_last_word(monkeypatch):
    monkeypatch.setenv("GPUMEM_CAP", "2GiB")
    gpumem.configure(cap="8GiB", frameworks={"numbat": {"cap": "4GiB"}})
    assert os.environ["NUMBAT_LIMIT"] == str(2 * GIB)


@pytest.mark.usefixtures("numbat")
def test_a_stronger_source_replaces_the_pair(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem]\ncap = "1GiB"\ngrowth = true\n')
    report = gpumem.configure(fraction=0.5, preallocate="1GiB")
    assert os.environ["NUMBAT_LIMIT"] == str(8 * GIB)
    assert {row.field for row in report.rows} == {"fraction", "preallocate"}


@pytest.mark.usefixtures("numbat")
def test_within_one_place_the_smaller_limit_wins():
    gpumem.configure(cap="4GiB", fraction=0.5)
    assert os.environ["NUMBAT_LIMIT"] == str(4 * GIB)
    gpumem.configure(cap="4GiB", fraction=0.125)
    assert os.environ["NUMBAT_LIMIT"] == str(2 * GIB)


@pytest.mark.usefixtures("numbat")
def test_an_explicit_wish_for_no_limit_beats_weaker_limits(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem]\ncap = "1GiB"\n')
    gpumem.configure(cap="none")
    assert "NUMBAT_LIMIT" not in os.environ


@pytest.mark.usefixtures("numbat")
def test_the_users_own_variable_beats_the_file(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem]\ncap = "1GiB"\ngrowth = true\n')
    monkeypatch.setenv("NUMBAT_LIMIT", str(2 * GIB))
    gpumem.configure()
    assert os.environ["NUMBAT_LIMIT"] == str(2 * GIB)
    assert os.environ["NUMBAT_GROWTH"] == "1"


@pytest.mark.usefixtures("numbat")
def test_arguments_beat_the_users_own_variable_with_a_warning_and_give_it_back(monkeypatch):
    monkeypatch.setenv("NUMBAT_LIMIT", str(2 * GIB))
    with pytest.warns(GpumemWarning, match=r"GM104.*environment NUMBAT_LIMIT.*overruled by.*cap=4GiB") as caught:
        [gpumem.configure(cap="4GiB", growth=growth) for growth in (None, True, False)]
    assert len(caught) == 1
    assert os.environ["NUMBAT_LIMIT"] == str(4 * GIB)
    gpumem.reset()
    assert os.environ["NUMBAT_LIMIT"] == str(2 * GIB)


@pytest.mark.usefixtures("numbat")
def test_the_warning_names_the_source_that_decides(monkeypatch):
    monkeypatch.setenv("NUMBAT_LIMIT", str(2 * GIB))
    monkeypatch.setenv("GPUMEM_CAP", "3GiB")
    with pytest.warns(GpumemWarning, match=r"overruled by cap=3GiB .environment GPUMEM_CAP"):
        gpumem.configure(cap="4GiB")


@pytest.mark.usefixtures("numbat")
def test_a_cap_on_another_device_overrules_nothing(monkeypatch):
    monkeypatch.setenv("NUMBAT_LIMIT", str(2 * GIB))
    gpumem.configure(devices={1: {"cap": "1GiB"}})
    assert os.environ["NUMBAT_LIMIT"] == str(2 * GIB)


@pytest.mark.usefixtures("numbat")
def test_the_users_own_variable_with_the_same_value_is_no_conflict(monkeypatch):
    monkeypatch.setenv("NUMBAT_LIMIT", str(2 * GIB))
    gpumem.configure(cap="2GiB")
    assert os.environ["NUMBAT_LIMIT"] == str(2 * GIB)


@pytest.mark.usefixtures("numbat")
def test_what_gpumem_wrote_is_never_taken_for_the_users(tmp_path):
    gpumem.configure(cap="4GiB")
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem]\ncap = "1GiB"\n')
    gpumem.configure()
    assert os.environ["NUMBAT_LIMIT"] == str(GIB)


@pytest.mark.usefixtures("numbat")
def test_a_variable_that_the_framework_cannot_read_is_told_before_it_starts(monkeypatch):
    monkeypatch.setenv("NUMBAT_LIMIT", "8GiB")
    with pytest.warns(GpumemWarning, match=r"GM105.*NUMBAT_LIMIT='8GiB' is not a number: numbat loses the GPU"):
        gpumem.configure(growth=True)


@pytest.mark.usefixtures("numbat")
def test_a_variable_that_the_policy_replaces_anyway_is_not_told(monkeypatch):
    monkeypatch.setenv("NUMBAT_LIMIT", "8GiB")
    gpumem.configure(cap="8GiB")


@pytest.mark.usefixtures("numbat", "quokka")
def test_two_frameworks_that_need_one_variable_differently_are_a_conflict(environ):
    from numbat_plugin import NumbatPlugin, variable

    from gpumem.plugin import Plan, hookimpl, register

    class Sharing(NumbatPlugin):
        @hookimpl
        def gpumem_plan(self, settings):
            return Plan("numbat", (variable("SHARED_MANAGED", "0", ("allocator",), settings.allocator.origin),))

    register(Sharing())
    before = environ()
    with pytest.raises(gpumem.PolicyConflictError) as caught:
        gpumem.configure(allocator="managed")
    for part in (
        "SHARED_MANAGED=0",
        "SHARED_MANAGED=1",
        "numbat",
        "quokka",
        "test_precedence.py:",
        "nothing was changed",
    ):
        assert part in str(caught.value), part
    assert environ() == before
    gpumem.configure(growth=True, allocator="default", frameworks={"numbat": {"allocator": "managed"}})


@pytest.mark.usefixtures("bilby")
def test_a_limit_that_nothing_holds_is_an_error_for_who_is_imported_or_named(environ):
    before = environ()
    assert gpumem.configure(cap="8GiB").rows_of("bilby")[0].state == "not_expressed"
    with pytest.raises(gpumem.UnsupportedPolicyError, match="bilby has no limit of its own"):
        gpumem.configure(frameworks={"bilby": {"cap": "1GiB"}})
    gpumem.reset()
    importlib.import_module("bilby")
    with pytest.raises(gpumem.UnsupportedPolicyError, match="on_unsupported"):
        gpumem.configure(cap="8GiB")
    with pytest.warns(GpumemWarning, match="GM202.*bilby"):
        gpumem.configure(cap="8GiB", on_unsupported="warn")
    gpumem.reset()
    gpumem.configure(cap="8GiB", frameworks={"bilby": {"on_unsupported": "ignore"}})
    assert environ() == before


@pytest.mark.usefixtures("numbat")
def test_a_variable_that_costs_the_gpu_is_an_error_where_the_policy_names_the_framework(monkeypatch):
    monkeypatch.setenv("NUMBAT_LIMIT", "8GiB")
    with pytest.raises(PolicyError, match=r"NUMBAT_LIMIT=8GiB \(environment NUMBAT_LIMIT\): is not a number"):
        gpumem.configure(frameworks={"numbat": {"growth": True}})
    assert gpumem.configure(frameworks={"numbat": {"cap": "2GiB"}}).ok  # the policy replaces it


@pytest.mark.usefixtures("bilby")
def test_a_limit_that_nothing_holds_is_told_when_its_framework_is_imported_later():
    gpumem.configure(cap="8GiB")
    with pytest.warns(GpumemWarning, match=r"GM202: bilby: cap=8GiB .*bilby has no limit of its own") as caught:
        importlib.import_module("bilby")
    assert len(caught) == 1


@pytest.mark.usefixtures("bilby")
def test_a_limit_that_nothing_holds_and_that_is_ignored_is_not_told_later():
    gpumem.configure(cap="8GiB", on_unsupported="ignore")
    importlib.import_module("bilby")
