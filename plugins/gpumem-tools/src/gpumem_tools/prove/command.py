"""``gpumem prove``: a policy tested on this machine, one process for each framework."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Final

from gpumem_core.cli.exit_codes import EXIT_FINDING, EXIT_OURS, EXIT_USAGE
from gpumem_core.cli.policy_flags import FlagError, add_policy_flags
from gpumem_core.devices.nvml import read_nvml
from gpumem_core.model.report import Report
from gpumem_tools.console import progress, results, told_if_slow
from gpumem_tools.frameworks import Frameworks, Tryable, find_frameworks
from gpumem_tools.outputs import OutputError, add_output_flags, check_outputs, write_outputs
from gpumem_tools.prove.judge import Finding, judge
from gpumem_tools.prove.policy_here import devices_needed, in_words, policy_report, policy_variables
from gpumem_tools.prove.show import show
from gpumem_tools.simulated import Simulator, SimulatorError, simulator
from gpumem_tools.trial.launch import launch
from gpumem_tools.trial.script import Script

SCHEMA: Final = 1


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "prove",
        help="test on this machine whether a policy holds for the installed frameworks",
        description="Test a policy on this machine: each installed framework allocates past its cap, in a process of "
        "its own, on its first GPU. Without policy flags the policy of this folder is tested, as gpumem.configure() "
        "finds it. Where there is no NVIDIA GPU, a simulated one is used, and the first line says so.",
    )
    add_output_flags(parser, html=False)
    parser.add_argument("--simulated", action="store_true", help="use a simulated GPU even if there is a real one")
    parser.add_argument("--devices", metavar="LIST", help="the simulated devices (16GiB each); implies --simulated")
    add_policy_flags(parser)
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class Place:
    """Where the policy is tested.

    Attributes:
        words: that for people, as the first line.
        machine: the simulated devices, None for those of this machine.
    """

    words: str
    machine: Simulator | None

    @property
    def simulated(self) -> bool:
        """Whether no real device is used."""
        return self.machine is not None or "SIMGPU_DEVICES" in os.environ


def run(options: argparse.Namespace) -> int:
    """Test the policy; return 0 if it holds for every framework, 3 if not, 2 if it has faults."""
    try:
        check_outputs(options)
        report = policy_report(options, os.environ)
        variables = policy_variables(options)
        place = find_place(options, report)
    except (FlagError, OutputError, SimulatorError) as error:
        sys.stderr.write(f"gpumem prove: {error}\n")
        return error.code if isinstance(error, SimulatorError) else EXIT_USAGE
    found = find_frameworks(os.environ)
    if problem := nothing_to_prove(report, found):
        sys.stderr.write(f"gpumem prove: {problem}\n")
        return EXIT_USAGE if found.tryable else EXIT_OURS
    try:
        findings = try_all(place, found, trial_environment(os.environ, variables, place))
        if options.json != "-":
            show(results(), place.words, in_words(report), findings, [*found.left_out, *notes(report)])
        write_outputs(options, to_dict(place, report, findings, found))
    except (OutputError, SimulatorError) as error:
        sys.stderr.write(f"gpumem prove: {error}\n")
        return EXIT_OURS
    return EXIT_FINDING if any(finding.bad for finding in findings) else 0


def nothing_to_prove(report: Report, found: Frameworks) -> str:
    """Return why there is nothing to test, empty where there is something."""
    if not found.tryable:
        extras = ",".join(found.plugins) or "all"
        told = "".join(f" {sentence}." for sentence in found.left_out)
        return (
            "no framework is installed here whose plugin says how to allocate with it;"
            f' install one, and its plugin: pip install "gpumem-core[{extras}]".{told}'
        )
    if not report.policy:
        return "no policy is declared here; name one, such as gpumem prove --cap 2GiB"
    return ""


def find_place(options: argparse.Namespace, report: Report) -> Place:
    """Return the devices to test on; real ones are looked for with NVML, which starts nothing.

    Raises:
        SimulatorError: there is no GPU, and none can be simulated.
    """
    real = () if options.simulated or options.devices else read_nvml().devices
    if real:
        words = f"On this machine's {real[0].name or 'GPU'}" + (", the first of its GPUs" if len(real) > 1 else "")
        # A simulation around this process answers NVML as well.
        words = f"{words} (simulated)" if "SIMGPU_DEVICES" in os.environ else words
        return Place(words, None)
    machine = simulator(options.devices or f"{devices_needed(report)}x16GiB")
    why = "as asked" if options.simulated or options.devices else "there is no NVIDIA GPU here"
    return Place(f"On a SIMULATED GPU ({why}): real frameworks and requests, modelled grants", machine)


def trial_environment(environ: Mapping[str, str], variables: Mapping[str, str], place: Place) -> dict[str, str]:
    """Return the environment of the trials: this one, with the policy's flags as variables."""
    base = {**environ, **variables}
    if place.machine is not None:
        # Devices that were assumed in the place of real ones would contradict the simulated ones, and a selection of
        # real devices would hide them.
        for name in ("GPUMEM_ASSUME_DEVICES", "CUDA_VISIBLE_DEVICES"):
            base.pop(name, None)
    return base


def try_all(place: Place, found: Frameworks, environ: Mapping[str, str]) -> list[Finding]:
    """Try every framework. On a real device one after the other: they would take each other's memory."""
    console = progress()
    gpus = None
    if place.machine is not None:
        with told_if_slow(console, "preparing the simulated GPU; the first time this takes about a minute"):
            place.machine.prepare()
        gpus = place.machine.gpus

    def one(framework: Tryable) -> Finding:
        console.print(f"testing {framework.title} {framework.version}".rstrip(), style="dim")
        launched = launch(Script((framework.turn,), "project"), environ, gpus)
        return judge(framework.name, framework.title, framework.version, launched)

    with ThreadPoolExecutor(2 if place.machine is not None else 1) as pool:
        return list(pool.map(one, found.tryable))


def notes(report: Report) -> list[str]:
    """Return remarks on what was not tested."""
    return ["only the first device was tested"] if devices_needed(report) > 1 or len(report.devices) > 1 else []


def to_dict(place: Place, report: Report, findings: Sequence[Finding], found: Frameworks) -> dict[str, object]:
    """Return the result as plain values; amounts are bytes."""
    return {
        "schema": SCHEMA,
        "simulated": place.simulated,
        "where": place.words,
        "policy": {key: dict(entry) for key, entry in report.policy.items()},
        "ok": not any(finding.bad for finding in findings),
        "findings": [asdict(finding) for finding in findings],
        "notes": [*found.left_out, *notes(report)],
    }
