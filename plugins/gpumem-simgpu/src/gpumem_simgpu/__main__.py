"""The command line: ``prepare`` builds what an interpreter needs, ``run`` starts a program on the devices."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.gpus import SimulatedGpus
from gpumem_simgpu.prepare import prepare


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: the program's own, 1 for a failure of ours."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.command == "prepare":
            return _prepare(arguments.python)
        return _run(arguments)
    except SimulationError as error:
        print(f"gpumem_simgpu: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gpumem_simgpu", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("prepare", help="build what the frameworks of an interpreter need")
    building.add_argument("--python", help="the interpreter (default: this one)")
    running = commands.add_parser("run", help="run a program on simulated devices")
    running.add_argument("--devices", default="2x16GiB", help="sizes, such as 2x16GiB or 8GiB,16GiB")
    running.add_argument("--nvml-total", help="sizes that NVML reports, where they differ")
    running.add_argument("--context", default="0", help="what a process's context takes on a device")
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


def _run(arguments: argparse.Namespace) -> int:
    program = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    if not program:
        print("gpumem_simgpu: say what to run, after --", file=sys.stderr)
        return 2
    gpus = SimulatedGpus(
        arguments.devices,
        nvml_total=arguments.nvml_total,
        context=arguments.context,
        python=arguments.python,
    ).for_command(program[0])
    with tempfile.TemporaryDirectory(prefix="gpumem-simgpu-") as folder:
        environment = gpus.environment(log=arguments.log)
        environment.setdefault("SIMGPU_STATE", str(Path(folder, "state")))
        try:
            code = subprocess.run(program, env=environment, check=False).returncode
        except FileNotFoundError:
            print(f"gpumem_simgpu: {program[0]} was not found", file=sys.stderr)
            return 127
    # A program that a signal ended is reported as a shell reports it.
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
