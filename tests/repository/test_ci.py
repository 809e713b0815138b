"""The summary of CI fails where something was not tested."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

CASE = '<testcase classname="plugins.gpumem-{name}.tests.test_x" name="test_it">{inner}</testcase>'
CELL = '<testcase classname="tests.simulated.matrix.test_matrix" name="test_x[cap]">{inner}</testcase>'
SKIPPED = '<skipped type="pytest.skip" message="{reason}"/>'
FOUR = ("jax", "tensorflow", "torch", "cupy")


@pytest.fixture
def count_tests(root: Path) -> Iterator[ModuleType]:
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("count_tests", root / ".ci" / "count_tests.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def write(folder: Path, *cases: str, environment: str = "newest-py312") -> None:
    text = "".join(cases)
    (folder / f"{environment}.xml").write_text(f"<testsuites><testsuite>{text}</testsuite></testsuites>", "utf-8")


def passed(*names: str) -> list[str]:
    return [CASE.format(name=name, inner="") for name in names]


def proved(*names: str, outcome: str = "") -> str:
    properties = "".join(f'<property name="matrix cells of {name}" value="cap"/>' for name in names)
    return CELL.format(inner=f"<properties>{properties}</properties>{outcome}")


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A repository without files of tests."""
    folder = tmp_path / "repository"
    folder.mkdir()
    return folder


def test_a_complete_run_is_fine(
    count_tests: ModuleType, tmp_path: Path, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where every environment left results and every framework was tested, the summary counts and ends with 0."""
    write(tmp_path, *passed(*FOUR, "jax"), proved(*FOUR, "jax", "jax"))
    assert count_tests.main(tmp_path, ["newest-py312"], empty) == 0
    shown = capsys.readouterr().out
    assert "newest-py312: 6 tests (6 passed)" in shown
    assert "jax              2, and 3 cells" in shown
    assert "cupy             1, and 1 cells" in shown


@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        (passed("jax", "torch", "cupy"), "no test ran for tensorflow"),
        (
            [*passed(*FOUR), CASE.format(name="jax", inner=SKIPPED.format(reason="not today"))],
            "skipped in newest-py312 and not on the list: plugins/gpumem-jax/tests/test_x::test_it: not today",
        ),
        ([*passed(*FOUR), CASE.format(name="cupy", inner='<failure message="x"/>')], "failed in newest-py312"),
        ([*passed(*FOUR), proved("jax", "torch", "cupy")], "no cell of the matrix ran for tensorflow"),
        (
            [*passed(*FOUR), proved("jax", "torch", "cupy"), proved("tensorflow", outcome='<failure message="x"/>')],
            "no cell of the matrix ran for tensorflow",
        ),
    ],
    ids=["a framework without a test", "a skip that is not listed", "a failure", "no cell", "a cell that failed"],
)
def test_what_was_not_tested_fails(
    count_tests: ModuleType,
    tmp_path: Path,
    empty: Path,
    capsys: pytest.CaptureFixture[str],
    cases: list[str],
    problem: str,
) -> None:
    """A framework without a test or a cell, a skip that is not listed and a failure make the summary fail."""
    write(tmp_path, *cases)
    assert count_tests.main(tmp_path, ["newest-py312"], empty) == 1
    assert problem in capsys.readouterr().out


def test_an_environment_without_results_fails(
    count_tests: ModuleType, tmp_path: Path, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An environment that did not run is not taken for one that passed."""
    write(tmp_path, *passed(*FOUR), proved(*FOUR))
    assert count_tests.main(tmp_path, ["newest-py312", "unit-py313"], empty) == 1
    assert "unit-py313 left no test results" in capsys.readouterr().out


def test_a_file_of_which_nothing_ran_fails(
    count_tests: ModuleType, tmp_path: Path, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of tests that no environment picked up is named; one with a class counts, one for a real GPU does not."""
    write(tmp_path, *passed(*FOUR), proved(*FOUR), CASE.format(name="jax", inner="").replace("test_x", "test_y.TestIt"))
    for name in ("test_x.py", "test_y.py", "test_z.py"):
        file = empty / "plugins" / "gpumem-jax" / "tests" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (empty / "tests" / "gpu").mkdir(parents=True)
    (empty / "tests" / "gpu" / "test_core.py").touch()
    assert count_tests.main(tmp_path, ["newest-py312"], empty) == 1
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("PROBLEM")]
    assert found == ["PROBLEM: no environment ran a test of plugins/gpumem-jax/tests/test_z.py"]


def test_the_files_of_this_repository_are_found(count_tests: ModuleType, root: Path) -> None:
    """Those of the core, of the plugins, and this one."""
    found = count_tests.test_files(root)
    assert {"tests/repository/test_ci.py", "tests/unit/test_sizes.py"} <= set(found)
    assert {name.split("/")[1] for name in found if name.startswith("plugins/")} >= {f"gpumem-{name}" for name in FOUR}


def test_a_listed_skip_is_allowed(count_tests: ModuleType) -> None:
    """A pattern of the list is matched against file, test and reason; comments and empty lines are no patterns."""
    case = count_tests.Case("newest-py312", "tests.process.test_x", "test_it", "skipped", "needs Windows")
    lines = ["# a comment", "", "tests/process/test_x::test_it: needs Windows"]
    found = count_tests.problems([case], [], count_tests.allowed(lines))
    assert [problem for problem in found if "skipped" in problem] == []


def test_a_test_that_fails_as_expected_is_no_skip(count_tests: ModuleType, tmp_path: Path) -> None:
    """An expected failure did run."""
    write(tmp_path, CASE.format(name="jax", inner='<skipped type="pytest.xfail" message="upstream"/>'))
    assert [case.outcome for case in count_tests.read(tmp_path / "newest-py312.xml")] == ["failed as expected"]
