"""Every code block of the package's README does what it shows."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpumem_simgpu.cache import cache_folder

README = Path(__file__).parents[1] / "README.md"
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```\n", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"# (?P<name>[\w.-]+\.(?:py|toml))\n")
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks() -> list[tuple[str, str]]:
    return [(match["info"], match["body"]) for match in FENCE.finditer(README.read_text(encoding="utf-8"))]


def printed(command: list[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.simulated("torch")
def test_every_block_does_what_it_shows(tmp_path: Path) -> None:
    """In one folder, in order; a block with a name is a file, ``text output`` is what the last program printed."""
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": search, "XDG_CACHE_HOME": str(cache_folder().parent)}
    said = ""
    for info, body in blocks():
        name = NAME.match(body)
        if name:
            (tmp_path / name["name"]).write_text(body, encoding="utf-8")
        elif info == "python":
            code, said = printed([sys.executable, "-c", body], tmp_path, environment)
            assert code == 0, f"{body}\n{said}"
        elif info == "text output":
            assert doctest.OutputChecker().check_output(body, said, SAME), f"shown:\n{body}\nprinted:\n{said}"
        else:
            assert info == "console", f"a block of another kind: {info}"
            command, _, shown = body.partition("\n")
            _, said = printed(["bash", "-c", command.removeprefix("$ ")], tmp_path, environment)
            assert doctest.OutputChecker().check_output(shown, said, SAME), f"{command}\nshown:\n{shown}\nsaid:\n{said}"


def test_every_variable_is_in_the_table() -> None:
    """The variables that the Python side writes are all explained."""
    source = (Path(__file__).parents[1] / "src/gpumem_simgpu/variables.py").read_text(encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    for variable in set(re.findall(r"SIMGPU_[A-Z_]+", source)) - {"SIMGPU_"}:
        assert f"`{variable}`" in readme
