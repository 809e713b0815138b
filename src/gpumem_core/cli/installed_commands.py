"""Commands that other packages bring: entry points of the group ``gpumem.commands``.

The entry point's name is the command's, its value ``module:add_parser``. The function is given the subparsers of
``gpumem``, adds one parser of that name, and sets ``run``, a function from the parsed options to the exit code.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

GROUP: Final = "gpumem.commands"

TOOLS: Final = "gpumem-tools"
TOOLS_EXTRA: Final = "gpumem-core[cli]"
TOOLS_COMMANDS: Final = frozenset(
    {
        "demo",
        "diagnose",
        "doctor",
        "fit",
        "import-env",
        "lint",
        "prove",
        "record",
        "simulate",
        "status",
        "trace",
    }
)
"""The commands of gpumem-tools in this or a later version, to say where one comes from that is not installed."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of another package, not loaded.

    Attributes:
        name: the word after ``gpumem``.
        distribution: who brings it, with the version.
        entry_point: where its ``add_parser`` stands.
    """

    name: str
    distribution: str
    entry_point: EntryPoint

    def add_to(self, commands: Commands) -> None:
        """Load the command and add its parser.

        Raises:
            BrokenCommandError: when it cannot be loaded, or adds something else.
        """
        # It is tried on a parser of its own first: one that fails half-way must leave nothing in the real one.
        trial = argparse.ArgumentParser(prog="gpumem", add_help=False).add_subparsers()
        try:
            add_parser = self.entry_point.load()
            add_parser(trial)
        except (Exception, SystemExit) as error:
            raise BrokenCommandError(self, f"{type(error).__name__}: {error}") from error
        if set(trial.choices) != {self.name}:
            added = ", ".join(sorted(trial.choices)) or "nothing"
            raise BrokenCommandError(self, f"its add_parser adds {added} instead of {self.name}")
        if not callable(trial.choices[self.name].get_default("run")):
            raise BrokenCommandError(self, "its add_parser does not set run, a function that takes the options")
        add_parser(commands)


class BrokenCommandError(Exception):
    """A command that cannot be used; the message names who brings it and what happened."""

    def __init__(self, command: Command, problem: str) -> None:
        """Keep the command and make the message."""
        self.command = command
        super().__init__(f"{command.name} ({command.distribution}): {problem}")


def installed_commands(own: Collection[str]) -> tuple[Mapping[str, Command], tuple[str, ...]]:
    """Return the commands of other packages by name, and a sentence for each that is left out. Imports none.

    Args:
        own: the commands of the core, which win over those of the same name.
    """
    return chosen(
        (
            Command(
                point.name,
                f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution",
                point,
            )
            for point in entry_points(group=GROUP)
        ),
        own,
    )


def chosen(found: Iterable[Command], own: Collection[str]) -> tuple[Mapping[str, Command], tuple[str, ...]]:
    """Return one command for each name, and a sentence for each that is left out."""
    # An editable install beside a wheel can list a command twice.
    unique = {(item.name, item.entry_point.value): item for item in found}.values()
    commands: dict[str, Command] = {}
    left_out: list[str] = []
    for item in sorted(unique, key=lambda item: (item.name, item.distribution)):
        if item.name in own:
            left_out.append(f"{item.name} of {item.distribution}: gpumem-core has a command of this name")
        elif item.name in commands:
            left_out.append(f"{item.name} of {item.distribution}: {commands[item.name].distribution} has it already")
        else:
            commands[item.name] = item
    return commands, tuple(left_out)


def where_from(name: str) -> str:
    """Return what to install for a command that is not there; empty where nobody is known to bring it."""
    if name not in TOOLS_COMMANDS:
        return ""
    try:
        present = version(TOOLS)
    except PackageNotFoundError:
        return f'{name} is a command of {TOOLS}, which is not installed: pip install "{TOOLS_EXTRA}"'
    return f"the installed {TOOLS} {present} does not have it; a later version will"
