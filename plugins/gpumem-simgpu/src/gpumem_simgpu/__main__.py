"""The command line: ``prepare`` builds, ``run`` starts a program on devices, ``profiles`` lists kinds of cards."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.faults import EXAMPLES
from gpumem_simgpu.field_values import NVML_MODES
from gpumem_simgpu.gpus import SimulatedGpus
from gpumem_simgpu.prepared import prepare
from gpumem_simgpu.profile import profiles
from gpumem_simgpu.program import run_program
from gpumem_simgpu.sizes import human_size


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: the program's own, 1 for a failure of ours, 2 for usage."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.command == "prepare":
            return _prepare(arguments.python)
        if arguments.command == "profiles":
            return _profiles()
        return _run(arguments)
    except SimulationError as error:
        print(f"gpumem_simgpu: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gpumem_simgpu", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("prepare", help="build what the frameworks of an interpreter need")
    building.add_argument("--python", help="the interpreter (default: this one)")
    commands.add_parser("profiles", help="list the kinds of cards that --devices knows")
    running = commands.add_parser(
        "run",
        help="run a program on simulated devices",
        epilog=f"Faults: {'; '.join(EXAMPLES.values())}.",
    )
    running.add_argument(
        "--devices",
        default=SimulatedGpus.devices,
        help='sizes or kinds of cards, such as 2x16GiB, "8GiB,16GiB", 2xT4, ./card.toml (default: %(default)s)',
    )
    running.add_argument("--nvml-total", metavar="SIZES", help="sizes that NVML reports, where they differ")
    running.add_argument("--context", metavar="SIZES", help="what each CUDA context takes")
    running.add_argument("--granularity", metavar="SIZE", help="what requests are rounded up to (2MiB; 1: nothing)")
    running.add_argument("--nvml", choices=NVML_MODES, default="present", help="how NVML behaves (%(default)s)")
    running.add_argument("--fault", action="append", default=[], help="what goes wrong; may be repeated; see below")
    running.add_argument("--log", type=Path, help="append every request to this file, as JSON lines")
    running.add_argument("--python", help="the interpreter whose frameworks run (default: the program's own)")
    running.add_argument("program", nargs=argparse.REMAINDER, metavar="-- COMMAND...")
    return parser


def _prepare(python: str | None) -> int:
    start = time.monotonic()
    prepared = prepare(python)
    print("\n".join(prepared.lines()))
    print(f"ready        in {time.monotonic() - start:.1f} s")
    return 0


def _profiles() -> int:
    known = profiles()
    width = max(len(profile.name) for profile in known)
    for profile in known:
        print(f"{profile.name:<{width}}  {human_size(profile.memory):>10}  {profile.description}")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    program = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not program:
        print("gpumem_simgpu: say what to run, after --", file=sys.stderr)
        return 2
    gpus = SimulatedGpus(
        arguments.devices,
        nvml_total=arguments.nvml_total,
        context=arguments.context,
        granularity=arguments.granularity,
        nvml=arguments.nvml,
        faults=arguments.fault,
        python=arguments.python,
    ).for_command(program[0])
    with tempfile.TemporaryDirectory(prefix="gpumem-simgpu-") as folder:
        environment = gpus.environment(log=arguments.log)
        environment.setdefault("SIMGPU_STATE", str(Path(folder, "state")))
        try:
            code = run_program(program, environment, stream=True).returncode
        except (FileNotFoundError, PermissionError) as error:
            print(f"gpumem_simgpu: {program[0]} cannot be run: {error.strerror}", file=sys.stderr)
            return 127 if isinstance(error, FileNotFoundError) else 126
    # A program that a signal ended is reported as a shell reports it.
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
