"""``gpumem simulate``: a program on simulated GPUs, and what it asked of them."""

from __future__ import annotations

import argparse
import sys

from gpumem_core.cli.exit_codes import EXIT_OURS, EXIT_USAGE
from gpumem_tools.console import progress, told_if_slow
from gpumem_tools.outputs import OutputError, add_output_flags, check_outputs, write_outputs
from gpumem_tools.simulate.observed import observe
from gpumem_tools.simulate.page_of_run import run_page
from gpumem_tools.simulate.show import show
from gpumem_tools.simulated import Simulator, SimulatorError, simulator

NVML = ("present", "missing", "mismatch", "no-permission", "unsupported", "no-sizes")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "simulate",
        help="run a program on simulated GPUs and show who asked for how much",
        description="Run a program on simulated GPUs. Its input and outputs stay its own; what it asked of the devices "
        "is printed on stderr when it has ended, and its exit code is returned.",
        usage="gpumem simulate [options] -- COMMAND...",
    )
    parser.add_argument(
        "--devices",
        default="1x16GiB",
        metavar="LIST",
        help="sizes or profiles: 2x16GiB, 8GiB,16GiB, 2xt4, a100-80gb (1x16GiB)",
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="FAULT",
        help="what goes wrong: alloc=3, alloc=3+, lost=5, init=999, other=4GiB:2, slow=50; @1 at the end for device 1 "
        "only; may be repeated",
    )
    parser.add_argument("--nvml", default="present", choices=NVML, help="how NVML behaves (present)")
    add_output_flags(parser)
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the program")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the program and tell what it did; return its exit code."""
    command = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not command:
        sys.stderr.write("gpumem simulate: name a program, such as gpumem simulate -- python train.py\n")
        return EXIT_USAGE
    try:
        check_outputs(options)
        machine = simulator(options.devices, faults=options.fault, nvml=options.nvml).for_command(command[0])
        return _run(options, machine, command)
    except OutputError as error:
        sys.stderr.write(f"gpumem simulate: {error}\n")
        return EXIT_USAGE
    except SimulatorError as error:
        sys.stderr.write(f"gpumem simulate: {error}\n")
        return error.code


def _run(options: argparse.Namespace, machine: Simulator, command: list[str]) -> int:
    from gpumem_simgpu import SimulationError

    console = progress()
    with told_if_slow(console, "preparing the simulated GPU; the first time this takes about a minute"):
        machine.prepare()
    try:
        done = machine.gpus.run(command, timeout=None, stream=True)
    except FileNotFoundError:
        sys.stderr.write(f"gpumem simulate: {command[0]} was not found\n")
        return 127
    except PermissionError:
        sys.stderr.write(f"gpumem simulate: {command[0]} cannot be executed\n")
        return 126
    except KeyboardInterrupt:  # pressed again while the program was ending
        return 130
    except SimulationError as error:
        sys.stderr.write(f"gpumem simulate: {error}\n")
        return EXIT_OURS
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    observed = observe(command, code, done, machine)
    show(console, observed)
    try:
        write_outputs(options, observed.to_dict(), run_page(observed))
    except OutputError as error:
        # The program has run, so its own exit code counts.
        sys.stderr.write(f"gpumem simulate: {error}\n")
        return code or EXIT_OURS
    return code
