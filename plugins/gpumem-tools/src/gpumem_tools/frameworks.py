"""The frameworks that are installed here and can be tried, as their plugins describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpumem_core.decide_policy import is_installed
from gpumem_core.plugins.registry import PluginProblem, Registry
from gpumem_tools.trial.script import Turn


@dataclass(frozen=True, slots=True)
class Tryable:
    """A framework that can be tried.

    Attributes:
        name: its name.
        title: its name for people.
        version: the version of its distribution, empty where that is unknown.
        variables: its environment variables.
        turn: how to allocate with it; without blocks.
    """

    name: str
    title: str
    version: str
    variables: tuple[str, ...]
    turn: Turn


@dataclass(frozen=True, slots=True)
class Frameworks:
    """What is there.

    Attributes:
        tryable: what can be tried, by name.
        left_out: a sentence for each installed framework that cannot.
        plugins: the names of all that have a plugin, installed or not.
    """

    tryable: tuple[Tryable, ...]
    left_out: tuple[str, ...]
    plugins: tuple[str, ...]


def find_frameworks(environ: Mapping[str, str], registry: Registry | None = None) -> Frameworks:
    """Return the frameworks of this interpreter; imports none of them."""
    plugins = registry or Registry({})
    tryable: list[Tryable] = []
    left_out = [str(problem) for problem in plugins.problems]
    for name, distribution in plugins.missing.items():
        if is_installed(name):
            left_out.append(f"{name} is installed without its plugin: pip install {distribution}")
    for name, plugin in sorted(plugins.plugins.items()):
        framework = plugin.framework
        if not is_installed(name):
            continue
        if not framework.allocate:
            left_out.append(f"{framework.title}: {plugin.distribution} does not say how to allocate with it")
            continue
        turn = Turn(name, framework.allocate, framework.out_of_memory)
        version = _version(plugins, name, framework.distributions, environ)
        tryable.append(Tryable(name, framework.title, version, framework.variables, turn))
    return Frameworks(tuple(tryable), tuple(left_out), tuple(sorted({*plugins.plugins, *plugins.missing})))


def _version(plugins: Registry, name: str, distributions: tuple[str, ...], environ: Mapping[str, str]) -> str:
    try:
        versions = plugins.state(name, environ).versions
    except PluginProblem:
        return ""
    return next((versions[one] for one in distributions if one in versions), "")
