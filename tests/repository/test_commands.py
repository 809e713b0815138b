"""The two commands of the README are the ones that contributors and CI use."""

from __future__ import annotations

import configparser
import os
import re
import shlex
from pathlib import Path


def shell_blocks(text: str) -> list[str]:
    """Return the fenced shell blocks of a page, in order."""
    return [block.strip() for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]


def commands(root: Path) -> tuple[str, str]:
    """Return the README's first two commands: the example's and that of the tests."""
    blocks = shell_blocks((root / "README.md").read_text(encoding="utf-8"))
    example, tests = blocks[0].splitlines() if len(blocks[0].splitlines()) > 1 else blocks[:2]
    return example, tests


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


def test_the_command_for_the_example_runs_an_environment_of_tox(root: Path) -> None:
    """The README's first command installs tox, and runs the example in an environment that tox.ini defines."""
    example, tests = commands(root)
    assert example.startswith("python3 -m venv .venv && .venv/bin/pip install tox && .venv/bin/tox ")
    words = shlex.split(example)
    assert words[words.index("-e") + 1] in tox(root)["tox"]["env_list"]
    assert (root / words[-1]).is_file()
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


def test_the_types_of_every_package_are_checked(root: Path, plugins: tuple[Path, ...]) -> None:
    """The core and every plugin are given to mypy, by tox and before a commit alike."""
    (line,) = [line for line in tox(root)["testenv:types"]["commands"].splitlines() if line.startswith("mypy ")]
    assert {f"plugins/{path.name}/src" for path in plugins} | {"src"} <= set(line.split())
    assert f"entry: {line}\n" in (root / ".pre-commit-config.yaml").read_text(encoding="utf-8")


def tox(root: Path) -> configparser.ConfigParser:
    """Return tox.ini."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(root / "tox.ini", encoding="utf-8")
    return parser
