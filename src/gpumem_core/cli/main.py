"""``gpumem``: the command line of the core, and of the packages that add commands to it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from gpumem_core.cli import explain
from gpumem_core.cli.exit_codes import EXIT_OURS, EXIT_USAGE
from gpumem_core.cli.installed_commands import (
    TOOLS,
    TOOLS_COMMANDS,
    TOOLS_EXTRA,
    BrokenCommandError,
    Command,
    installed_commands,
    where_from,
)
from gpumem_core.errors import GpumemError
from gpumem_core.model.read_value import nearest

OWN: Final = {"explain": explain.add_parser}
"""The commands of the core itself."""


def parser(commands: Mapping[str, Command], asked: str | None, left_out: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser with the asked command, or with all of them for the help.

    A command that is broken is named at the end of the help; when it is the one asked for, BrokenCommandError is
    raised.
    """
    top = argparse.ArgumentParser(
        prog="gpumem",
        description="One GPU memory policy for every framework in the process.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="store_true", help="print the version and exit")
    choices = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, add_parser in OWN.items():
        if asked in (None, name):
            add_parser(choices)
    broken: list[str] = []
    for name, command in commands.items():
        if asked in (None, name):
            try:
                command.add_to(choices)
            except BrokenCommandError as error:
                if asked is not None:
                    raise
                broken.append(str(error))
    notes = [("installed, but broken:", broken), ("left out:", list(left_out))]
    paragraphs = ["\n  ".join([title, *lines]) for title, lines in notes if lines]
    if asked is None and not TOOLS_COMMANDS & commands.keys():
        paragraphs.append(f'more commands, such as demo and simulate, come with {TOOLS}: pip install "{TOOLS_EXTRA}"')
    top.epilog = "\n\n".join(paragraphs) or None
    return top


def asked_command(words: Sequence[str]) -> str | None:
    """Return the command that is to run, None for the help of gpumem itself."""
    for word in words:
        if word in ("-h", "--help"):
            return None
        if not word.startswith("-"):
            return word
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 fine, 1 gpumem's own failure, 2 usage or policy, 3 a finding."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    asked = asked_command(words)
    if asked is None and "--version" in words:
        import gpumem

        sys.stdout.write(f"gpumem {gpumem.__version__}\n")
        return 0
    commands, left_out = ({}, ()) if asked in OWN else installed_commands(OWN)
    if asked is not None and asked not in OWN and asked not in commands:
        sys.stderr.write(f"gpumem: {unknown(asked, (*OWN, *commands))}\n")
        return EXIT_USAGE
    try:
        top = parser(commands, asked, left_out)
    except BrokenCommandError as error:
        sys.stderr.write(f"gpumem: this command is installed, but broken: {error}\n")
        return EXIT_OURS
    options = top.parse_args(words)
    if not options.command:
        top.print_help()
        return EXIT_USAGE
    try:
        return int(options.run(options))
    except GpumemError as error:
        sys.stderr.write(f"gpumem: {type(error).__name__}: {error}\n")
        return EXIT_USAGE


def unknown(name: str, known: Sequence[str]) -> str:
    """Return what to say of a command that is not there."""
    text = f'there is no command "{name}"'
    if origin := where_from(name):
        return f"{text} here: {origin}"
    if close := nearest(name, known):
        return f"{text}; did you mean {close}?"
    return f"{text}; gpumem --help lists all"
