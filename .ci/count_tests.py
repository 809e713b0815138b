# ruff: noqa: INP001 (scripts of CI, not a package)
"""Say how many tests ran, per environment and per framework; fail on a skip that is not on the list.

Reads the JUnit files of one `tox run`. The list is `.ci/allowed_skips.txt`: skips for want of a GPU or of an operating
system. Failures too are an environment without a file, a framework without a test or without a cell of the matrix, and
a file of tests of which no environment ran anything: a test that nobody runs guards nothing.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FRAMEWORKS = ("jax", "tensorflow", "torch", "cupy")
ALLOWED = Path(__file__).with_name("allowed_skips.txt")
ROOT = Path(__file__).parents[1]
CELLS = "matrix cells of "
"""The property by which a test of the matrix says which cell it proved for which framework."""

FOLDERS = ("tests", "plugins/*/tests")
NEED_A_GPU = "tests/gpu/"
"""Folders with tests, and the one that no environment of `tox run` is for."""


@dataclass(frozen=True)
class Case:
    """One test as JUnit has it."""

    environment: str
    place: str
    name: str
    outcome: str
    reason: str = ""
    cells: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The framework whose test it is, else the package or the folder."""
        for framework in FRAMEWORKS:
            if f"gpumem-{framework}." in self.place or re.search(
                rf"simulated\.test_{framework}\b|_{framework}\b", self.place
            ):
                return framework
        parts = self.place.split(".")
        return parts[1] if parts[0] in {"plugins", "tests"} and len(parts) > 1 else parts[0]


def read(file: Path) -> list[Case]:
    """Return the tests of a JUnit file."""
    cases: list[Case] = []
    for element in ET.parse(file).iter("testcase"):
        outcome, reason = "passed", ""
        for child in element:
            if child.tag in {"failure", "error"}:
                outcome = "failed"
            elif child.tag == "skipped":
                expected = child.get("type") == "pytest.xfail"
                outcome = "failed as expected" if expected else "skipped"
                reason = child.get("message", "")
        names = (entry.get("name", "") for entry in element.iter("property"))
        cells = tuple(name.removeprefix(CELLS) for name in names if name.startswith(CELLS))
        cases.append(Case(file.stem, element.get("classname", ""), element.get("name", ""), outcome, reason, cells))
    return cases


def allowed(lines: Iterable[str]) -> list[re.Pattern[str]]:
    """Return the patterns of the list."""
    return [re.compile(line.strip()) for line in lines if line.strip() and not line.startswith("#")]


def test_files(root: Path) -> list[str]:
    """Return the files with tests that an environment of `tox run` is to run, relative to the repository."""
    files = (file for folder in FOLDERS for top in root.glob(folder) for file in top.rglob("test_*.py"))
    names = sorted(file.relative_to(root).as_posix() for file in files)
    return [name for name in names if not name.startswith(NEED_A_GPU)]


def unrun(cases: list[Case], files: Iterable[str]) -> list[str]:
    """Return the files of which no test ran in any environment."""
    places = {case.place for case in cases if case.outcome != "skipped"}
    dotted = {name: name.removesuffix(".py").replace("/", ".") for name in files}
    # A test in a class has the class behind the file.
    return [
        name
        for name, module in dotted.items()
        if not any(place == module or place.startswith(f"{module}.") for place in places)
    ]


def problems(cases: list[Case], environments: Iterable[str], patterns: list[re.Pattern[str]]) -> list[str]:
    """Return what is wrong with a run, one sentence each."""
    present = {case.environment for case in cases}
    found = [f"{name} left no test results" for name in environments if name not in present]
    ran = Counter(case.subject for case in cases if case.outcome != "skipped")
    found += [f"no test ran for {framework}" for framework in FRAMEWORKS if not ran[framework]]
    proved = cells_of(cases)
    found += [f"no cell of the matrix ran for {name}" for name in FRAMEWORKS if not proved[name]]
    for case in cases:
        text = f"{case.place.replace('.', '/')}::{case.name}: {case.reason}"
        if case.outcome == "skipped" and not any(pattern.search(text) for pattern in patterns):
            found.append(f"skipped in {case.environment} and not on the list: {text}")
        if case.outcome == "failed":
            found.append(f"failed in {case.environment}: {case.place.replace('.', '/')}::{case.name}")
    return found


def cells_of(cases: Iterable[Case]) -> Counter[str]:
    """Return how many cells of the matrix were proved, by framework."""
    return Counter(framework for case in cases if case.outcome == "passed" for framework in case.cells)


def table(cases: list[Case]) -> list[str]:
    """Return the counts as lines."""
    lines = []
    for environment in sorted({case.environment for case in cases}):
        here = [case for case in cases if case.environment == environment]
        outcomes = Counter(case.outcome for case in here)
        lines.append(f"{environment}: {len(here)} tests ({', '.join(f'{n} {o}' for o, n in sorted(outcomes.items()))})")
        subjects = Counter(case.subject for case in here if case.outcome != "skipped")
        cells = cells_of(here)
        for subject, number in sorted(subjects.items()):
            lines.append(f"    {subject:<16} {number}" + (f", and {cells[subject]} cells" if cells[subject] else ""))
    return lines


def main(folder: Path, environments: list[str], root: Path = ROOT) -> int:
    """Print the counts and the problems; return the exit code."""
    cases = [case for file in sorted(folder.glob("*.xml")) for case in read(file)]
    found = problems(cases, environments, allowed(ALLOWED.read_text(encoding="utf-8").splitlines()))
    found += [f"no environment ran a test of {name}" for name in unrun(cases, test_files(root))]
    sys.stdout.write("\n".join([*table(cases), *(f"PROBLEM: {problem}" for problem in found)]) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
