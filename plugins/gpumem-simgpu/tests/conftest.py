"""What the tests of the simulated GPU share."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from gpumem_simgpu import SimulatedGpus, SimulatedRun
from gpumem_simgpu.cache import cache_folder

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect, not skip, what needs a framework that this environment does not have.

    The arguments of the marker ``simulated`` are the modules that a test imports.
    """
    ours = [item for item in items if item.path.is_relative_to(_HERE)]
    absent = [item for item in ours if (mark := item.get_closest_marker("simulated")) and _missing(mark.args)]
    if absent:
        config.hook.pytest_deselected(items=absent)
        items[:] = [item for item in items if item not in absent]


def _missing(modules: tuple[str, ...]) -> bool:
    return any(importlib.util.find_spec(name) is None for name in modules)


@pytest.fixture(autouse=True)
def _environment_unchanged() -> Iterator[None]:
    before = dict(os.environ)
    yield
    # pytest keeps the name of the running test in a variable of its own.
    before.pop("PYTEST_CURRENT_TEST", None)
    after = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    assert after == before


class RunProgram(Protocol):
    """Run a file of ``programs`` on simulated devices, in a fresh interpreter."""

    def __call__(self, name: str, *arguments: str, gpus: SimulatedGpus = ..., **env: str) -> SimulatedRun: ...


@pytest.fixture
def run_program() -> RunProgram:
    def run(name: str, *arguments: str, gpus: SimulatedGpus | None = None, **env: str) -> SimulatedRun:
        chosen = gpus or SimulatedGpus("2x16GiB")
        done = chosen.run([sys.executable, str(_HERE / "programs" / name), *arguments], env=env)
        assert done.returncode == 0, done.stderr
        return done

    return run


class Suite:
    """A test suite of somebody else in a folder of its own, made of files of ``suites``."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path

    def add(self, name: str, as_name: str | None = None) -> Path:
        """Copy a file of ``suites``, by default as ``test_NAME``."""
        text = (_HERE / "suites" / name).read_text(encoding="utf-8")
        file = self.path / (as_name or f"test_{name}")
        file.write_text(text, encoding="utf-8")
        return file

    def add_program(self, name: str) -> None:
        """Copy a file of ``programs``."""
        (self.path / name).write_text((_HERE / "programs" / name).read_text(encoding="utf-8"), encoding="utf-8")

    def run(self, *options: str, own_process: bool = False) -> pytest.RunResult:
        """Run pytest in the suite's folder, as its owner does."""
        start = self.pytester.runpytest_subprocess if own_process else self.pytester.runpytest_inprocess
        return start("-p", "no:cacheprovider", *options)


@pytest.fixture
def suite(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Suite:
    # pytester gives each test a home folder of its own; what has been built is in the real one.
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_folder().parent))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return Suite(request.getfixturevalue("pytester"))
