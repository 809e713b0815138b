"""The two commands of the README are the ones that contributors and CI use."""

from __future__ import annotations

import configparser
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any


def shell_blocks(text: str) -> list[str]:
    """Return the fenced shell blocks of a page, in order."""
    return [block.strip() for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]


def commands(root: Path) -> tuple[str, str]:
    """Return the README's first two commands: the demo's and that of the tests."""
    blocks = shell_blocks((root / "README.md").read_text(encoding="utf-8"))
    demo, tests = blocks[0].splitlines() if len(blocks[0].splitlines()) > 1 else blocks[:2]
    return demo, tests


def test_contributing_begins_with_the_commands_of_the_readme(root: Path) -> None:
    """CONTRIBUTING's first block is the README's."""
    readme, contributing = (
        shell_blocks((root / name).read_text(encoding="utf-8"))[0] for name in ("README.md", "CONTRIBUTING.md")
    )
    assert contributing == readme


def test_ci_runs_the_command_of_the_readme(root: Path) -> None:
    """.ci/run calls exactly the command that the README gives for the tests, and is strict about failures."""
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    assert any(line.split(" || ")[0].strip() == commands(root)[1] for line in script.splitlines())
    assert script.splitlines()[0] == "#!/usr/bin/env bash"
    assert "\nset -euo pipefail\n" in script
    assert os.access(root / ".ci" / "run", os.X_OK)


def test_the_command_for_the_demo_runs_an_environment_of_tox(root: Path) -> None:
    """The README's first command installs tox, and plays the demo in an environment that tox.ini defines."""
    demo, tests = commands(root)
    assert demo.startswith("python3 -m venv .venv && .venv/bin/pip install tox && .venv/bin/tox exec ")
    words = shlex.split(demo)
    assert words[words.index("-e") + 1] in tox(root)["tox"]["env_list"]
    assert words[words.index("--") + 1 :] == ["gpumem", "demo"]
    assert tests.endswith("&& .venv/bin/tox run")


def test_ci_expects_results_of_every_environment_with_tests(root: Path) -> None:
    """The environments whose results CI asks for are those of tox's list that run tests."""
    environments = [name.strip() for name in tox(root)["tox"]["env_list"].split(",")]
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    asked = re.search(r"count_tests\.py build/junit (.*?)(?: \|\||$)", script, re.MULTILINE)
    assert asked
    assert asked[1].split() == [name for name in environments if name != "types"]


def test_a_missing_interpreter_is_a_failure(root: Path) -> None:
    """An environment is never left out because its Python is not there, and pyenv offers all of them."""
    assert tox(root)["tox"]["skip_missing_interpreters"] == "false"
    offered = (root / ".python-version").read_text(encoding="utf-8").split()
    asked = {f"3.{minor}" for minor in re.findall(r"py3(\d+)", tox(root)["tox"]["env_list"])}
    assert asked | {"3.12"} == set(offered)
    assert offered[0] == "3.12", "plain python3 is the first one"


def test_the_types_of_every_package_are_checked(
    root: Path, plugins: tuple[Path, ...], pyproject: Callable[[Path], dict[str, Any]]
) -> None:
    """The core and every package under plugins/ are what mypy checks, by tox and before a commit alike."""
    assert "mypy" in tox(root)["testenv:types"]["commands"].splitlines()
    assert "entry: mypy\n" in (root / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    settings = pyproject(root)["tool"]["mypy"]
    checked = {path for pattern in settings["files"] for path in root.glob(pattern)}
    sources = {root / "src", *(path / "src" for path in plugins)}
    assert sources <= checked
    assert sources == {root / name for name in settings["mypy_path"]}


def test_what_one_environment_leaves_out_another_runs(root: Path, pyproject: Callable[[Path], dict[str, Any]]) -> None:
    """No environment of the list leaves out what no other runs, but a real GPU's tests and the exhaustive ones."""
    markers = {text.partition(":")[0] for text in pyproject(root)["tool"]["pytest"]["ini_options"]["markers"]}
    left_out = {name: set(re.findall(r"not (\w+)", expression_of(root, name))) for name in ENVIRONMENTS}
    assert left_out["unit-py{311,313}"] == markers
    assert left_out["{newest,oldest}-py312"] == {"gpu", "exhaustive"}
    assert expression_of(root, "simulated") == "simulated or exhaustive"


ENVIRONMENTS = ("unit-py{311,313}", "{newest,oldest}-py312")


def expression_of(root: Path, environment: str) -> str:
    """Return what an environment gives to pytest as -m."""
    words = shlex.split(tox(root)[f"testenv:{environment}"]["commands"].strip())
    return words[words.index("-m") + 1]


def tox(root: Path) -> configparser.ConfigParser:
    """Return tox.ini."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(root / "tox.ini", encoding="utf-8")
    return parser
