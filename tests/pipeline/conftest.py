"""A process of its own for each test: invented frameworks, no installed plugin, no file, two assumed devices."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from numbat_plugin import NumbatPlugin
from quokka_plugin import BilbyPlugin, QuokkaPlugin

import gpumem
from gpumem.plugin import register
from gpumem_core import state, suggestions
from gpumem_core.declarations import find_file
from gpumem_core.plugins import registry

FRAMEWORKS = ("numbat", "quokka", "bilby")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take away what the machine brings, and whatever a test configured afterwards."""
    for name in [name for name in os.environ if name.startswith("GPUMEM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GPUMEM_ASSUME_DEVICES", "2x16GiB")
    monkeypatch.setattr(registry, "installed_plugins", tuple)
    monkeypatch.setattr(registry, "candidate_frameworks", dict)
    monkeypatch.setattr(find_file, "script_folder", lambda: None)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    yield
    gpumem.reset()
    state.forget()
    suggestions.forget()
    for name in FRAMEWORKS:
        sys.modules.pop(name, None)


@pytest.fixture
def numbat() -> NumbatPlugin:
    """The framework numbat with its plugin: bytes, read at its start."""
    plugin = NumbatPlugin()
    register(plugin)
    return plugin


@pytest.fixture
def quokka() -> QuokkaPlugin:
    """The framework quokka with its plugin: a fraction, fixed at its import."""
    plugin = QuokkaPlugin()
    register(plugin)
    return plugin


@pytest.fixture
def bilby() -> BilbyPlugin:
    """The framework bilby with its plugin: no limit at all."""
    plugin = BilbyPlugin()
    register(plugin)
    return plugin


@pytest.fixture
def environ() -> Callable[[], dict[str, str]]:
    """Return the environment of this process, without what pytest writes."""
    return lambda: {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


@pytest.fixture
def started() -> SimpleNamespace:
    """A numbat that is imported and started, before anybody configured anything."""
    import numbat

    numbat.start()
    return numbat
