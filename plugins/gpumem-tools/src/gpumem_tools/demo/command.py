"""``gpumem demo``: the problem and the cure on one simulated card, with the frameworks that are installed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from gpumem_core.cli.exit_codes import EXIT_FINDING
from gpumem_tools.console import progress, results, told_if_slow
from gpumem_tools.demo.page_of_scenes import demo_page
from gpumem_tools.demo.play import Stage, clean_environment
from gpumem_tools.demo.promises import broken_promises
from gpumem_tools.demo.scenes import Scene, plan_for
from gpumem_tools.demo.show import show
from gpumem_tools.frameworks import Frameworks, find_frameworks
from gpumem_tools.outputs import OutputError, add_output_flags, check_outputs, write_outputs
from gpumem_tools.simulated import Simulator, SimulatorError, simulator

SCHEMA: Final = 1


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "demo",
        help="show the problem and the cure on one simulated card, with the frameworks that are installed",
        description="Play what the installed frameworks do on one simulated card: with their defaults, where one takes "
        "what another needs, and under one policy, where all fit. Takes about a minute and needs no GPU.",
    )
    parser.add_argument("--devices", default="1x16GiB", metavar="SIZE", help="the card: a size or a profile (1x16GiB)")
    add_output_flags(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Play the scenes; return 0 only if the policy kept what it promised."""
    try:
        check_outputs(options)
        machine = simulator(options.devices)
    except (OutputError, SimulatorError) as error:
        sys.stderr.write(f"gpumem demo: {error}\n")
        return error.code if isinstance(error, SimulatorError) else 2
    found = find_frameworks(os.environ)
    if not found.tryable:
        sys.stderr.write(f"gpumem demo: {nothing_to_play(found)}\n")
        return 1
    try:
        scenes = play(machine, found)
        broken = broken_promises(scenes)
        names = [framework.name for framework in found.tryable]
        if options.json != "-":
            show(results(), scenes, broken, names)
        versions = ", ".join(f"{framework.title} {framework.version}".strip() for framework in found.tryable)
        write_outputs(options, to_dict(scenes, broken, found), demo_page(scenes, broken, names, f"With {versions}."))
    except (OutputError, SimulatorError) as error:
        sys.stderr.write(f"gpumem demo: {error}\n")
        return 1
    return EXIT_FINDING if broken else 0


def play(machine: Simulator, found: Frameworks) -> tuple[Scene, ...]:
    """Play every scene, and tell on stderr how far it is."""
    console = progress()
    names = ", ".join(f"{framework.title} {framework.version}".strip() for framework in found.tryable)
    console.print(f"gpumem demo with {names}; about a minute", style="dim")
    for sentence in found.left_out:
        console.print(f"left out: {sentence}", style="dim")
    with told_if_slow(console, "preparing the simulated card; the first time this takes about a minute"):
        machine.prepare()
    plan = plan_for(machine.totals[0], len(found.tryable))
    stage = Stage(
        machine.gpus, clean_environment(os.environ, found.tryable), lambda text: console.print(text, style="dim")
    )
    return stage.play_all(found.tryable, plan)


def nothing_to_play(found: Frameworks) -> str:
    """Return one sentence on what to install."""
    if found.left_out:
        return f"no framework here can be shown: {'; '.join(found.left_out)}"
    extras = ",".join(found.plugins)
    return (
        "there is no framework here to show anything with; install one, and gpumem with its plugin: "
        f'pip install "gpumem-core[{extras or "all"},cli,simulation]"'
    )


def to_dict(scenes: Sequence[Scene], broken: Sequence[str], found: Frameworks) -> dict[str, object]:
    """Return the result as plain values; amounts are bytes."""
    return {
        "schema": SCHEMA,
        "simulated": True,
        "ok": not broken,
        "broken": list(broken),
        "frameworks": {framework.name: framework.version for framework in found.tryable},
        "left_out": list(found.left_out),
        "scenes": [asdict(scene) for scene in scenes],
    }
