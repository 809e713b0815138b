"""``gpumem explain``: what the declared policy would do here, without doing it."""

from __future__ import annotations

import argparse
import sys

from gpumem_core.cli.policy_flags import FlagError, add_policy_flags, declared_flags


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "explain",
        help="show what the declared policy would do here, without doing it",
        description="Show what the policy from flags, GPUMEM_* variables and files would set for each framework. "
        "Changes nothing and starts nothing.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON; amounts of memory are in bytes")
    parser.add_argument("--config", metavar="FILE", help="read this file instead of searching for one")
    parser.add_argument("--profile", metavar="NAME", help="put this profile of the file on top")
    parser.add_argument(
        "--assume-devices", metavar="LIST", help="calculate with these devices, such as 2x16GiB, instead of asking"
    )
    add_policy_flags(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the dry run."""
    from gpumem_core import pipeline

    try:
        declared = declared_flags(options)
    except FlagError as error:
        sys.stderr.write(f"gpumem: {error}\n")
        return 2
    environ = pipeline.base_environment()
    for variable, value in (
        ("GPUMEM_CONFIG", options.config),
        ("GPUMEM_PROFILE", options.profile),
        ("GPUMEM_ASSUME_DEVICES", options.assume_devices),
    ):
        if value:
            environ[variable] = value
    report = pipeline.explain_declared(declared, environ)
    sys.stdout.write((report.to_json() if options.json else str(report)) + "\n")
    return 0
