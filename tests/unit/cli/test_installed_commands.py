"""Commands of other packages: found by entry point, loaded only when asked for, and named when they are broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpumem_core.cli import installed_commands
from gpumem_core.cli import main as command_line

WORKS = """
def add_parser(commands):
    parser = commands.add_parser({name!r}, help={help!r})
    parser.add_argument("--code", type=int, default=0)
    parser.set_defaults(run=lambda options: options.code)
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a distribution with one command each, beside the commands that are there."""
    modules: list[str] = []
    # What happens to be installed here, such as gpumem-tools, must not decide these tests.
    found = installed_commands.entry_points
    monkeypatch.setattr(
        installed_commands,
        "entry_points",
        lambda group: [point for point in found(group=group) if point.dist and point.dist.name.startswith("wombat")],
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(name: str, source: str = "", *, distribution: str = "wombat", about: str = "dig a burrow") -> None:
        module = f"{distribution}_{name}".replace("-", "_")
        modules.append(module)
        (tmp_path / f"{module}.py").write_text(source or WORKS.format(name=name, help=about))
        folder = tmp_path / f"{module}-1.2.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
        (folder / "entry_points.txt").write_text(f"[gpumem.commands]\n{name} = {module}:add_parser\n")

    yield install
    for module in modules:
        sys.modules.pop(module, None)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run the command line; return the exit code, stdout and stderr."""
    try:
        code = command_line.main(list(words))
    except SystemExit as left:  # argparse leaves after the help and after a mistake in the flags
        code = left.code if isinstance(left.code, int) else 1
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_command_of_another_package_runs_with_its_options(install, capsys):
    """The function that its parser sets gets the options, and its answer is the exit code."""
    install("dig")
    assert run(capsys, "dig", "--code", "3") == (3, "", "")


def test_only_the_asked_command_is_loaded(install, capsys):
    """Neither another package's command nor the core's loads what was not asked for."""
    install("dig")
    install("sleep", distribution="wombat-two")
    assert run(capsys, "dig")[0] == 0
    assert run(capsys, "explain", "--assume-devices", "1x16GiB", "--cap", "1GiB")[0] == 0
    assert ("wombat_dig" in sys.modules, "wombat_two_sleep" in sys.modules) == (True, False)


def test_the_help_lists_every_command_with_its_line(install, capsys):
    """`gpumem --help` shows the core's commands and everybody else's."""
    install("dig", about="dig a burrow")
    code, out, _err = run(capsys, "--help")
    assert code == 0
    assert "dig a burrow" in out
    assert "show what the declared policy would do here" in out


def test_help_before_a_command_is_the_whole_help(install, capsys):
    """`gpumem --help dig` is not the help of a gpumem with one command."""
    install("dig")
    assert "explain" in run(capsys, "--help", "dig")[1]
    assert "--code" in run(capsys, "dig", "--help")[1]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("raise SystemExit(9)", "SystemExit: 9"),
        ("x = 1", "add_parser"),
        ("def add_parser(commands): commands.add_parser('dug')", "adds dug instead of dig"),
        ("def add_parser(commands): pass", "adds nothing instead of dig"),
        ("def add_parser(commands): commands.add_parser('dig')", "does not set run"),
        ("def add_parser(commands):\n    commands.add_parser('dig')\n    1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_broken_command_is_named_and_does_not_stop_the_others(install, capsys, source, said):
    """The help names the distribution and the error; asked for, it is gpumem's failure; others run."""
    install("dig", source)
    install("sleep", distribution="wombat-two", about="sleep all day")
    code, out, err = run(capsys, "--help")
    assert (code, err) == (0, "")
    assert "sleep all day" in out
    assert "installed, but broken:\n  dig (wombat 1.2): " in out
    assert said in out
    code, out, err = run(capsys, "dig")
    assert (code, out) == (1, "")
    assert err.startswith("gpumem: this command is installed, but broken: dig (wombat 1.2): ")
    assert run(capsys, "sleep")[0] == 0


def test_a_command_of_the_core_wins_and_the_help_says_who_lost(install, capsys):
    """Nobody replaces `gpumem explain` by installing a package."""
    install("explain", about="something else")
    code, out, err = run(capsys, "explain", "--assume-devices", "1x16GiB", "--cap", "1GiB")
    assert (code, err) == (0, "")
    assert "cap=1 GiB" in out.replace("1GiB", "1 GiB")
    assert "explain of wombat 1.2: gpumem-core has a command of this name" in run(capsys, "--help")[1]


def test_of_two_packages_with_one_command_the_first_by_name_has_it(install, capsys):
    """The choice does not depend on the order of installation, and the help tells it."""
    install("dig", distribution="wombat-two", about="second")
    install("dig", distribution="wombat", about="first")
    out = run(capsys, "--help")[1]
    assert "first" in out
    assert "dig of wombat-two 1.2: wombat 1.2 has it already" in out


@pytest.mark.usefixtures("install")
def test_an_unknown_command_says_which_package_brings_it(capsys, monkeypatch):
    """Nothing is imported for that; a known package that is too old is named with its version."""
    monkeypatch.setattr(installed_commands, "TOOLS", "no-such-distribution")
    code, out, err = run(capsys, "demo")
    assert (code, out) == (2, "")
    assert err == (
        'gpumem: there is no command "demo" here: demo is a command of no-such-distribution, which is not installed: '
        'pip install "gpumem-core[cli]"\n'
    )
    monkeypatch.setattr(installed_commands, "TOOLS", "gpumem-core")
    assert "the installed gpumem-core " in run(capsys, "doctor")[2]
    assert "a later version will" in run(capsys, "doctor")[2]


def test_an_unknown_word_names_the_nearest_command(install, capsys):
    """A slip of the fingers is answered with the word that was meant."""
    install("dig")
    assert run(capsys, "dgi") == (2, "", 'gpumem: there is no command "dgi"; did you mean dig?\n')
    assert "gpumem --help lists all" in run(capsys, "qqq")[2]


def test_the_version_needs_no_command(install, capsys):
    """`gpumem --version` loads nobody's command, so a broken one cannot spoil it."""
    install("dig", "raise SystemExit(9)")
    code, out, err = run(capsys, "--version")
    assert (code, err) == (0, "")
    assert out.startswith("gpumem ")


def test_the_help_says_where_more_commands_come_from(install, capsys):
    """Without gpumem-tools the help says how to get the larger commands."""
    install("dig")
    assert 'pip install "gpumem-core[cli]"' in run(capsys, "--help")[1]
    install("demo", distribution="wombat-three")
    assert 'pip install "gpumem-core[cli]"' not in run(capsys, "--help")[1]
