"""The policy as flags: one per field, and ``-o KEY=VALUE`` for every key."""

from __future__ import annotations

import argparse

from gpumem_core.model.declaration import Declared
from gpumem_core.model.fields import FIELD_SPECS
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.read_table import read_table


def add_policy_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each field that may stand at the top of a policy, and ``-o``."""
    group = parser.add_argument_group("policy")
    for name, spec in FIELD_SPECS.items():
        if "policy" in spec.levels:
            meaning = spec.meaning.replace("%", "%%")
            group.add_argument(f"--{name.replace('_', '-')}", dest=name, metavar="VALUE", help=meaning)
    group.add_argument(
        "-o",
        dest="keys",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set any key, such as devices.1.cap=2GiB; may be repeated",
    )


class FlagError(ValueError):
    """A flag cannot be read; the message says why."""


def policy_table(options: argparse.Namespace) -> dict[str, object]:
    """Return the flags as a nested policy table.

    Raises:
        FlagError: when ``-o`` has no value, or two flags contradict each other.
    """
    table: dict[str, object] = {}
    for name, spec in FIELD_SPECS.items():
        if "policy" in spec.levels and getattr(options, name, None) is not None:
            table[name] = getattr(options, name)
    for text in options.keys:
        key, sign, value = text.partition("=")
        path = [part.strip() for part in key.split(".")]
        if not sign or not all(path):
            message = f"-o {text}: write KEY=VALUE, such as devices.1.cap=2GiB"
            raise FlagError(message)
        here = table
        for part in path[:-1]:
            inner = here.setdefault(part, {})
            if not isinstance(inner, dict):
                message = f"-o {text}: {part} has a value of its own already"
                raise FlagError(message)
            here = inner
        last = path[-1].replace("-", "_") if len(path) == 1 else path[-1]
        if isinstance(here.get(last), dict):
            message = f"-o {text}: {last} is given more keys already"
            raise FlagError(message)
        here[last] = value
    return table


def declared_flags(options: argparse.Namespace) -> Declared:
    """Return what the flags declare; keys may be written with hyphens, as in files.

    Raises:
        FlagError: when the flags make no table.
    """
    flags = {name for name in FIELD_SPECS if getattr(options, name, None) is not None}

    def place(path: tuple[str, ...]) -> Origin:
        # A flag is what a person types to launch: as strong as a variable, and stronger than the variables around it.
        written = f"--{path[0].replace('_', '-')}" if path[:1] and path[0] in flags else f"-o {'.'.join(path)}"
        return Origin(Rank.ENVIRONMENT, f"command line {written}")

    return read_table(policy_table(options), place, kebab=True)
