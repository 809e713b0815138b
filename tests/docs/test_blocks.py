"""Every code block of the documentation does what it shows.

- ``python`` runs in a fresh interpreter, on the simulated GPU where the page imports a framework, else on two
  assumed devices of 16 GiB; a page that simulates a GPU itself runs without any. A ``text output`` block after it is
  what it prints.
- A ``python`` or ``toml`` block whose first line is ``# NAME`` is a file that the later blocks of its page find; it
  is not run by itself.
- ``console`` runs what follows ``$ `` and compares what is shown; ``...`` stands for anything, and on a line of its own
  for any number of lines, such as notes on older versions of a framework.
- ``toml`` is read by gpumem without a fault.
- ``sh`` is for commands that set up a machine; they are in the short list below, or are the two of the README.
- ``text`` is not run.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gpumem.testing import fresh_python
from gpumem_simgpu import SimulatedGpus

if TYPE_CHECKING:
    from tests.docs.conftest import Block

pytestmark = pytest.mark.simulated
LANGUAGES = {"python", "toml", "console", "sh", "text"}
SETTING_UP = (
    re.compile(r'pip install (?:--[a-z-]+ )*"?gpumem-[a-z]+(?:\[[a-z,]+\])?"?'),
    re.compile(r"tox run -e [a-z0-9-]+(?: -- .*)?"),
    re.compile(r"git clone \S+"),
    re.compile(r"python docs/generate\.py"),
    re.compile(r"pip install -e \."),
)
FRAMEWORK = re.compile(r"^\s*(?:import|from) (?:jax|tensorflow|torch|cupy)\b", re.MULTILINE)
SIMULATES = re.compile(r"\bSimulatedGpus\(|\bsimulated_gpus\(|^\$ gpumem (?:simulate|demo|prove)\b", re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Page:
    """Runs the blocks of one page in one folder."""

    def __init__(self, blocks: tuple[Block, ...], folder: Path) -> None:
        self.blocks = blocks
        self.folder = folder
        # A page on simulating a GPU has its own devices, and is read on a machine without any.
        self.simulates = any(
            SIMULATES.search(block.body) for block in blocks if block.language in {"python", "console"}
        )
        imports = any(FRAMEWORK.search(block.body) for block in blocks if block.language == "python")
        self.simulated = imports and not self.simulates

    def environment(self) -> dict[str, str]:
        base = {name: value for name, value in os.environ.items() if not name.startswith("GPUMEM_")}
        # Commands find this environment's python and gpumem first, and messages of TensorFlow stay out of the output.
        base["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{base.get('PATH', '')}"
        base["TF_CPP_MIN_LOG_LEVEL"] = "3"
        base["PYTHONWARNINGS"] = "default"
        # Tables are as wide as they want to be: folders of tests have long names.
        base["COLUMNS"] = "200"
        if self.simulates:
            return base
        if not self.simulated:
            return {**base, "GPUMEM_ASSUME_DEVICES": "2x16GiB"}
        return {**SimulatedGpus("2x16GiB").environment(base), "SIMGPU_STATE": str(self.folder / ".state")}

    def run(self) -> None:
        following = iter((*self.blocks[1:], None))
        for block in self.blocks:
            after = next(following)
            if block.name:
                (self.folder / block.name).write_text(block.body, encoding="utf-8")
            if block.language == "python" and not block.name:
                shown = after.body if after and after.language == "text" and "output" in after.marks else None
                self.python(block, shown)
            elif block.language == "console":
                self.console(block)
            elif block.language == "toml" and "tox" not in block.marks:
                self.toml(block)
            elif block.language == "sh":
                assert_sets_up(block)

    def python(self, block: Block, shown: str | None) -> None:
        (self.folder / "program.py").write_text(block.body, encoding="utf-8")
        code, printed = self.execute("python program.py")
        assert code == 0, f"line {block.line}: exit code {code}\n{printed}"
        if shown is not None:
            assert_shows(block, shown, printed)

    def console(self, block: Block) -> None:
        for command, shown in commands(block.body):
            code, printed = self.execute(command)
            assert shown or code == 0, f"line {block.line}: $ {command}: exit code {code}\n{printed}"
            if shown:
                assert_shows(block, shown, printed)

    def execute(self, command: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=240,
            check=False,
        )
        # The page's folder is the reader's own; a place is shown as a reader would see it.
        return done.returncode, done.stdout.replace(str(self.folder.resolve()), "/project")

    def toml(self, block: Block) -> None:
        tables = tomllib.loads(block.body)
        file = self.folder / ("pyproject.toml" if "tool" in tables else "gpumem.toml")
        file.write_text(block.body, encoding="utf-8")
        done = fresh_python(READ, environ={"GPUMEM_CONFIG": str(file), "GPUMEM_ASSUME_DEVICES": "2x16GiB"})
        assert done.returncode == 0, f"line {block.line}\n{done.stderr}"
        if not block.name:
            file.unlink()


READ = """
import os
from gpumem_core.declarations.files import read_files
faults = read_files(os.environ).faults
assert not faults, faults
"""


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with what is shown below it."""
    command, shown = "", ""
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            if command:
                yield command, shown
            command, shown = line[2:].strip(), ""
        else:
            shown += line
    if command:
        yield command, shown


def assert_shows(block: Block, shown: str, printed: str) -> None:
    """Fail unless `printed` is what the page shows."""
    any_lines = re.sub(r"(?<!^)\n\.\.\.(?=\n|$)", "...", shown)
    same = doctest.OutputChecker().check_output(any_lines, printed, FLAGS)
    assert same, f"line {block.line} shows\n{shown}\nbut it is\n{printed}"


def assert_sets_up(block: Block) -> None:
    """Fail unless the block holds only commands that set up a machine."""
    for line in block.body.splitlines():
        known = "python3 -m venv .venv && .venv/bin/pip install tox && .venv/bin/tox "
        assert line.startswith(known) or any(p.fullmatch(line) for p in SETTING_UP), f"line {block.line}: {line}"


def test_every_block_does_what_it_shows(page: Path, root: Path, blocks: tuple[Block, ...], tmp_path: Path) -> None:
    """The blocks of a page, one after the other; of a plugin's README, which shows excerpts, the programs compile."""
    assert {block.language for block in blocks} <= LANGUAGES
    if page.is_relative_to(root / "plugins"):
        for block in blocks:
            if block.language == "python":
                compile(block.body, f"{page}:{block.line}", "exec")
    else:
        Page(blocks, tmp_path).run()


@pytest.mark.parametrize(
    "wrong",
    [
        {"language": "python", "body": "1 / 0"},
        {"language": "console", "body": "$ false\n"},
        {"language": "console", "body": "$ echo one\ntwo\n"},
        {"language": "toml", "body": "[tool.gpumem]\ncap = 'much'\n"},
        {"language": "sh", "body": "rm -r build"},
    ],
    ids=lambda wrong: wrong["body"].split("\n")[0],
)
def test_a_wrong_block_is_found(wrong: Mapping[str, str], tmp_path: Path) -> None:
    """A program that fails, a command that fails or prints something else, and a faulty table are found."""
    from types import SimpleNamespace

    block = SimpleNamespace(name="", marks=(), line=1, **wrong)
    with pytest.raises(AssertionError):
        Page((block,), tmp_path).run()
