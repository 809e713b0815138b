"""Files are small, named by what they hold, and free of leftovers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

MAX_LINES = 350
MAX_NATIVE_LINES = 300
LONG: dict[str, str] = {}
"""Source files that may be longer, each with its reason."""

VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "stuff"}

FORBIDDEN = {
    "a path of somebody's machine": re.compile(r"(?<![\w.~])/(?:home|Users|root|work|mnt|tmp)/(?!\.\.\.)\w"),
    "a mark of unfinished work": re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b"),
    "a body that is missing": re.compile(r"\bNotImplementedError\b"),
    "a test that skips itself": re.compile(r"\bpytest\.(?:skip|importorskip)\b|\bmark\.skip(?:if)?\b"),
    "a test that asks whether it is one": re.compile(r"\b_called_from_test\b"),
}
EXCUSED = {
    ("src/gpumem_core/plugins/hookspecs.py", "a body that is missing"): "pluggy never calls a specification",
    ("tests/repository/test_ci.py", "a test that skips itself"): "JUnit's word for a skipped test",
    (
        "plugins/gpumem-simgpu/tests/suites/outcomes.py",
        "a test that skips itself",
    ): "a suite of somebody else, on which the pytest plugin is tested",
    (
        "plugins/gpumem-simgpu/tests/native/conftest.py",
        "a test that skips itself",
    ): "valgrind may be missing on a machine; CI, whose list of skips does not have it, fails there",
}
TEXT = {".py", ".md", ".toml", ".txt", ".ini", ".c", ".h", ".yaml", ".cfg", ".json", ".svg", ""}


def test_source_files_are_short(root: Path, tracked: tuple[Path, ...]) -> None:
    """No Python or C file has more than 350 lines, but for those that are listed with a reason."""
    lengths = {
        path.relative_to(root).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in tracked
        if path.suffix in {".py", ".c", ".h"}
    }
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES and name not in LONG} == {}
    assert [name for name in LONG if lengths.get(name, 0) <= MAX_LINES] == [], "no longer long: remove it from the list"


def test_native_files_are_shorter_still(root: Path, tracked: tuple[Path, ...]) -> None:
    """No C file of a package has more than 300 lines, and each begins with a comment on what it is for."""
    native = [path for path in tracked if path.suffix in {".c", ".h"} and "src" in path.relative_to(root).parts]
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in native}
    assert texts
    long = {name: lines for name, text in texts.items() if (lines := len(text.splitlines())) > MAX_NATIVE_LINES}
    assert long == {}
    assert [name for name, text in texts.items() if not text.startswith(("/*", "//"))] == []


def test_no_file_has_a_vague_name(root: Path, tracked: tuple[Path, ...]) -> None:
    """A file's name says its responsibility."""
    names = [path.relative_to(root) for path in tracked if path.suffix in {".py", ".c", ".h"}]
    assert [str(name) for name in names if {part.partition(".")[0] for part in name.parts} & VAGUE] == []


@pytest.mark.parametrize(("folder", "marker"), [("tests/simulated", "simulated"), ("tests/gpu", "gpu")])
def test_tests_on_a_gpu_are_marked(root: Path, tracked: tuple[Path, ...], folder: str, marker: str) -> None:
    """Each file of tests below the folder is marked as a whole: an environment chooses it or leaves it out."""
    wanted = re.compile(rf"^pytestmark = .*\bpytest\.mark\.{marker}\b", re.MULTILINE)
    files = [path for path in tracked if path.is_relative_to(root / folder) and path.name.startswith("test_")]
    assert [str(path) for path in files if not wanted.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_no_file_holds_what_is_forbidden(root: Path, tracked: tuple[Path, ...], kind: str) -> None:
    """Paths of one machine, marks of unfinished work and skipped tests do not belong into the repository."""
    here = Path(__file__)
    found = [
        f"{name}:{number}: {line.strip()}"
        for path in tracked
        if path.suffix in TEXT and path != here
        for name in [path.relative_to(root).as_posix()]
        if (name, kind) not in EXCUSED
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if FORBIDDEN[kind].search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("a path of somebody's machine", 'open("/home/ada/x")'),
        ("a mark of unfinished work", "# TODO later"),
        ("a body that is missing", "raise NotImplementedError"),
        ("a test that skips itself", '@pytest.mark.skipif(True, reason="no GPU")'),
    ],
)
def test_the_search_finds_what_is_forbidden(kind: str, text: str) -> None:
    """Each pattern matches what it is for."""
    assert FORBIDDEN[kind].search(text)
