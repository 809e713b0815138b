"""What the README shows of `gpumem demo` is what it does, and the picture has its numbers."""

from __future__ import annotations

import doctest
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.docs.conftest import Block

pytestmark = pytest.mark.simulated
NUMBERS = ("title", "framework", "wanted", "granted", "first_taken", "held")
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Played:
    """A demo that was played: its exit code, what it printed, and its result as JSON."""

    returncode: int
    stdout: str
    stderr: str
    result: dict[str, Any]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The demo, played once."""
    file = tmp_path_factory.mktemp("demo") / "demo.json"
    done = subprocess.run(
        [sys.executable, "-m", "gpumem", "demo", "--json", str(file)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert file.is_file(), done.stdout + done.stderr
    return Played(done.returncode, done.stdout, done.stderr, json.loads(file.read_text(encoding="utf-8")))


def numbers(result: dict[str, Any]) -> list[tuple[object, ...]]:
    """Return the amounts of a result, in the order of its scenes and parts."""
    return [
        (scene["title"], scene["policy"] and tuple(scene["policy"].items()), *(part[name] for name in NUMBERS))
        for scene in result["scenes"]
        for part in scene["parts"]
    ]


def test_the_readme_and_the_picture_show_what_the_demo_does(
    played: Played, root: Path, blocks_of_page: Callable[[Path], tuple[Block, ...]]
) -> None:
    """The policy keeps what it promises, the README's excerpt is printed, and the picture's numbers are these."""
    assert played.returncode == 0, played.stdout + played.stderr
    committed = json.loads((root / "docs" / "pictures" / "demo.json").read_text(encoding="utf-8"))
    assert numbers(played.result) == numbers(committed)
    (excerpt,) = [block.body for block in blocks_of_page(root / "README.md") if block.marks == ("gpumem", "demo")]
    assert doctest.OutputChecker().check_output(f"...{excerpt}...", played.stdout, SAME), played.stdout


def test_the_committed_picture_is_drawn_from_the_committed_result(root: Path, tmp_path: Path) -> None:
    """`python docs/draw_demo.py` would change nothing, and a number that was changed is found."""
    program = [sys.executable, "draw_demo.py", "--check"]
    done = subprocess.run(program, cwd=root / "docs", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    shutil.copy(root / "docs" / "draw_demo.py", tmp_path)
    shutil.copytree(root / "docs" / "pictures", tmp_path / "pictures")
    result = tmp_path / "pictures" / "demo.json"
    changed = json.loads(result.read_text(encoding="utf-8"))
    changed["scenes"][0]["parts"][0]["held"] //= 2
    result.write_text(json.dumps(changed), encoding="utf-8")
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "out of date: pictures/demo.svg\n")
