"""``gpumem``: the command line of the core."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gpumem_core.cli import explain
from gpumem_core.errors import GpumemError

EXIT_OURS = 1
EXIT_USAGE = 2


def parser() -> argparse.ArgumentParser:
    """Return the parser with all commands."""
    top = argparse.ArgumentParser(
        prog="gpumem", description="One GPU memory policy for every framework in the process."
    )
    top.add_argument("--version", action="store_true", help="print the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    explain.add_parser(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 fine, 1 gpumem's own failure, 2 usage or policy, 3 a finding."""
    options = parser().parse_args(arguments)
    if options.version:
        import gpumem

        sys.stdout.write(f"gpumem {gpumem.__version__}\n")
        return 0
    if not options.command:
        parser().print_help()
        return EXIT_USAGE
    try:
        return int(options.run(options))
    except GpumemError as error:
        sys.stderr.write(f"gpumem: {type(error).__name__}: {error}\n")
        return EXIT_USAGE
