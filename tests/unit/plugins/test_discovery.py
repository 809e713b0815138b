"""Plugins and candidate frameworks are read from metadata; nothing is imported for it."""

import sys

import pytest

from gpumem_core.plugins import discovery
from gpumem_core.plugins.registry import Registry
from gpumem_core.plugins.versions import installed_versions

CORE = """Metadata-Version: 2.1
Name: gpumem-core
Version: 9.9
Provides-Extra: numbat
Provides-Extra: cli
Requires-Dist: pluggy
Requires-Dist: gpumem-numbat>=0.1,<1; extra == "numbat"
Requires-Dist: gpumem-tools>=0.1; extra == 'cli'
Requires-Dist: gpumem-core[numbat]; extra == 'all'
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder with installed distributions."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def install(name, version, metadata="", entry_points=""):
        folder = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(metadata or f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (folder / "entry_points.txt").write_text(entry_points)
        return tmp_path

    return install


def test_candidates_are_the_extras_that_require_a_plugin_of_that_name(site):
    site("gpumem-core", "9.9", CORE)
    assert discovery.candidate_frameworks() == {"numbat": "gpumem-numbat"}


def test_without_metadata_there_are_no_candidates(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    assert discovery.candidate_frameworks() == {}


def test_an_installed_plugin_is_found_with_its_distribution_and_not_imported(site):
    site("gpumem-numbat", "1.2", entry_points="[gpumem]\nnumbat = no_such_module\n")
    found = {item.name: item for item in discovery.installed_plugins()}
    assert (found["numbat"].distribution, found["numbat"].version) == ("gpumem-numbat", "1.2")
    assert "no_such_module" not in sys.modules


def test_a_plugin_that_cannot_be_loaded_is_named_with_its_version(site):
    site("gpumem-numbat", "1.2", entry_points="[gpumem]\nnumbat = no_such_module\n")
    (problem,) = [p for p in Registry({}).problems if p.name == "numbat"]
    assert str(problem).startswith("the plugin numbat (gpumem-numbat 1.2) failed in loading: ModuleNotFoundError")


def test_a_registered_plugin_replaces_an_installed_one(site):
    from numbat_plugin import NumbatPlugin

    site("gpumem-numbat", "1.2", entry_points="[gpumem]\nnumbat = no_such_module\n")
    registry = Registry({"numbat": NumbatPlugin()})
    assert registry.plugins["numbat"].distribution == "registered by code"
    assert not [p for p in registry.problems if p.name == "numbat"]


def test_a_missing_plugin_is_known_by_its_framework(site):
    site("gpumem-core", "9.9", CORE)
    assert Registry({}).missing == {"numbat": "gpumem-numbat"}


def test_a_plugin_that_fails_is_not_missing(site):
    site("gpumem-core", "9.9", CORE)
    site("gpumem-numbat", "1.2", entry_points="[gpumem]\nnumbat = no_such_module\n")
    assert Registry({}).missing == {}


def test_versions_of_what_is_not_installed_are_left_out():
    assert list(installed_versions(["pluggy", "no-such-thing"])) == ["pluggy"]


def test_a_problem_passes_through_context_managers_as_any_exception_does():
    from contextlib import contextmanager

    from gpumem_core.plugins.registry import PluginProblem

    @contextmanager
    def passing():
        yield

    with pytest.raises(PluginProblem) as caught, passing():
        raise PluginProblem("numbat", "gpumem-numbat 1.2", "gpumem_plan", "KeyError: 1")
    caught.value.add_note("seen")
    assert str(caught.value) == "the plugin numbat (gpumem-numbat 1.2) failed in gpumem_plan: KeyError: 1"
