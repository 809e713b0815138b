# ruff: noqa: INP001 (scripts of CI, not a package)
"""Say how many tests ran, per environment and per framework; fail on a skip that is not on the list.

Reads the JUnit files of one `tox run`. The list is `.ci/allowed_skips.txt`: skips for want of a GPU or of an operating
system. An environment without a file, and a framework without a test, are failures too: a test that nobody runs
guards nothing.
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


@dataclass(frozen=True)
class Case:
    """One test as JUnit has it."""

    environment: str
    place: str
    name: str
    outcome: str
    reason: str = ""

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
        cases.append(Case(file.stem, element.get("classname", ""), element.get("name", ""), outcome, reason))
    return cases


def allowed(lines: Iterable[str]) -> list[re.Pattern[str]]:
    """Return the patterns of the list."""
    return [re.compile(line.strip()) for line in lines if line.strip() and not line.startswith("#")]


def problems(cases: list[Case], environments: Iterable[str], patterns: list[re.Pattern[str]]) -> list[str]:
    """Return what is wrong with a run, one sentence each."""
    present = {case.environment for case in cases}
    found = [f"{name} left no test results" for name in environments if name not in present]
    ran = Counter(case.subject for case in cases if case.outcome != "skipped")
    found += [f"no test ran for {framework}" for framework in FRAMEWORKS if not ran[framework]]
    for case in cases:
        text = f"{case.place.replace('.', '/')}::{case.name}: {case.reason}"
        if case.outcome == "skipped" and not any(pattern.search(text) for pattern in patterns):
            found.append(f"skipped in {case.environment} and not on the list: {text}")
        if case.outcome == "failed":
            found.append(f"failed in {case.environment}: {case.place.replace('.', '/')}::{case.name}")
    return found


def table(cases: list[Case]) -> list[str]:
    """Return the counts as lines."""
    lines = []
    for environment in sorted({case.environment for case in cases}):
        here = [case for case in cases if case.environment == environment]
        outcomes = Counter(case.outcome for case in here)
        lines.append(f"{environment}: {len(here)} tests ({', '.join(f'{n} {o}' for o, n in sorted(outcomes.items()))})")
        subjects = Counter(case.subject for case in here if case.outcome != "skipped")
        lines += [f"    {subject:<12} {number}" for subject, number in sorted(subjects.items())]
    return lines


def main(folder: Path, environments: list[str]) -> int:
    """Print the counts and the problems; return the exit code."""
    cases = [case for file in sorted(folder.glob("*.xml")) for case in read(file)]
    found = problems(cases, environments, allowed(ALLOWED.read_text(encoding="utf-8").splitlines()))
    sys.stdout.write("\n".join([*table(cases), *(f"PROBLEM: {problem}" for problem in found)]) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
