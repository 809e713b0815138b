"""The only module that touches pluggy: typed calls, each to one plugin, each fault kept where it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar, cast

import pluggy

from gpumem_core.model.budget import Budgets
from gpumem_core.model.framework import Framework, FrameworkState, NativeReading, Observation
from gpumem_core.model.plan import Plan, RuntimeCall
from gpumem_core.model.settings import FrameworkSettings
from gpumem_core.plugins import hookspecs
from gpumem_core.plugins.discovery import candidate_frameworks, installed_plugins
from gpumem_core.plugins.hookspecs import PROJECT, Progress, Undo
from gpumem_core.plugins.tested_range import untested, version_ranges


class PluginProblem(Exception):
    """A plugin that failed.

    Attributes:
        name: the name of the entry point, which is the framework's.
        distribution: the distribution with its version.
        hook: where it failed: a hook, or ``loading``.
        error: what happened.
    """

    def __init__(self, name: str, distribution: str, hook: str, error: str) -> None:
        """Keep what happened where."""
        self.name = name
        self.distribution = distribution
        self.hook = hook
        self.error = error
        super().__init__(name, distribution, hook, error)

    def __str__(self) -> str:
        """Return the problem as one sentence."""
        return f"the plugin {self.name} ({self.distribution}) failed in {self.hook}: {self.error}"


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A loaded framework plugin."""

    name: str
    distribution: str
    framework: Framework
    implementation: object


class Registry:
    """The loaded plugins.

    Attributes:
        plugins: by the name of the framework.
        problems: plugins that could not be loaded.
        missing: frameworks without an installed plugin, with the distribution that brings it.
    """

    def __init__(self, registered: Mapping[str, object]) -> None:
        """Load the installed plugins and those registered by code, which replace an installed one of that name."""
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self.plugins: dict[str, Plugin] = {}
        self.problems: list[PluginProblem] = []
        self._wrappers: list[object] = []
        for name, implementation in registered.items():
            self._add(name, implementation, "registered by code")
        for found in installed_plugins():
            if found.name in registered:
                continue
            distribution = f"{found.distribution} {found.version}"
            try:
                implementation = found.entry_point.load()
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything; it is reported by name
                self.problems.append(PluginProblem(found.name, distribution, "loading", _text(error)))
                continue
            self._add(found.name, implementation, distribution)
        failed = {problem.name for problem in self.problems}
        self.missing = {
            name: plugin
            for name, plugin in candidate_frameworks().items()
            if name not in self.plugins and name not in failed
        }

    @property
    def aliases(self) -> dict[str, str]:
        """Every accepted name of a framework, its own included, to its own."""
        return {
            name: plugin.name for plugin in self.plugins.values() for name in (plugin.name, *plugin.framework.aliases)
        }

    def untested(self, name: str, versions: Mapping[str, str]) -> str:
        """Return the framework's installed version that its plugin is not tested with; empty where it is."""
        distribution = self.plugins[name].distribution.partition(" ")[0]
        return untested(version_ranges(distribution), versions)

    def _add(self, name: str, implementation: object, distribution: str) -> None:
        try:
            self._manager.register(implementation, name)
            self._manager.check_pending()
        except Exception as error:  # noqa: BLE001 - pluggy may leave a half-registered plugin behind
            if self._manager.is_registered(implementation):
                self._manager.unregister(implementation)
            self.problems.append(PluginProblem(name, distribution, "loading", _text(error)))
            return
        if not hasattr(implementation, "gpumem_framework"):
            # A site plugin: it only wraps the calls to the others.
            self._wrappers.append(implementation)
            return
        try:
            framework = self._call(implementation, "gpumem_framework", name, distribution)
        except PluginProblem as problem:
            self._manager.unregister(implementation)
            self.problems.append(problem)
            return
        if not isinstance(framework, Framework) or framework.name != name:
            said = framework.name if isinstance(framework, Framework) else repr(framework)
            error_text = f"it says that its framework is {said!r}, but its entry point is named {name!r}"
            self._manager.unregister(implementation)
            self.problems.append(PluginProblem(name, distribution, "gpumem_framework", error_text))
            return
        self.plugins[name] = Plugin(name, distribution, framework, implementation)

    def _call(self, implementation: object, hook: str, name: str, distribution: str, **arguments: object) -> object:
        others = [
            plugin
            for plugin in self._manager.get_plugins()
            if plugin is not implementation and plugin not in self._wrappers
        ]
        try:
            return self._manager.subset_hook_caller(hook, remove_plugins=others)(**arguments)
        except Exception as error:
            if self._wrappers:
                blamed = self._without_wrappers(implementation, hook, arguments, error)
                if blamed is not None:
                    raise blamed from error
            raise PluginProblem(name, distribution, hook, _text(error)) from error

    def _without_wrappers(
        self, implementation: object, hook: str, arguments: Mapping[str, object], error: Exception
    ) -> PluginProblem | None:
        """Try once without the site plugins; if that goes well, the fault is theirs."""
        others = [plugin for plugin in self._manager.get_plugins() if plugin is not implementation]
        try:
            answer = self._manager.subset_hook_caller(hook, remove_plugins=others)(**arguments)
            if hook == "gpumem_apply" and callable(answer):
                answer()  # the call counts as failed: it must not stay in force
        except Exception:  # noqa: BLE001 - it fails on its own as well: the plugin is to blame
            return None
        names = ", ".join(str(self._manager.get_name(wrapper)) for wrapper in self._wrappers)
        return PluginProblem(names, "a site plugin that wraps the call", hook, _text(error))

    def _ask(self, name: str, hook: str, **arguments: object) -> object:
        plugin = self.plugins[name]
        return self._call(plugin.implementation, hook, name, plugin.distribution, **arguments)

    def _answer(self, name: str, hook: str, kind: type[T], **arguments: object) -> T:
        """Return what a hook answers; an answer of another kind is a fault of the plugin."""
        answer = self._ask(name, hook, **arguments)
        if not isinstance(answer, kind):
            said = f"it returned {answer!r}, not a {kind.__name__}"
            raise PluginProblem(name, self.plugins[name].distribution, hook, said)
        return answer

    def native(self, name: str, environ: Mapping[str, str], versions: Mapping[str, str]) -> NativeReading:
        """Call `gpumem_native`."""
        if not hasattr(self.plugins[name].implementation, "gpumem_native"):  # a framework without variables
            return NativeReading()
        return self._answer(name, "gpumem_native", NativeReading, environ=environ, versions=versions)

    def state(self, name: str, environ: Mapping[str, str]) -> FrameworkState:
        """Call `gpumem_state`."""
        return self._answer(name, "gpumem_state", FrameworkState, environ=environ)

    def plan(
        self,
        name: str,
        settings: FrameworkSettings,
        budgets: Budgets,
        state: FrameworkState,
        environ: Mapping[str, str],
    ) -> Plan:
        """Call `gpumem_plan`."""
        arguments = {"settings": settings, "budgets": budgets, "state": state, "environ": environ}
        plan = self._answer(name, "gpumem_plan", Plan, **arguments)
        if plan.framework != name:
            said = f"it returned a plan for {plan.framework!r}"
            raise PluginProblem(name, self.plugins[name].distribution, "gpumem_plan", said)
        return plan

    def apply(self, name: str, call: RuntimeCall, module: ModuleType, progress: Progress) -> Undo | None:
        """Call `gpumem_apply`."""
        return cast("Undo | None", self._ask(name, "gpumem_apply", call=call, module=module, progress=progress))

    def observe(self, name: str, module: ModuleType) -> tuple[Observation, ...]:
        """Call `gpumem_observe`."""
        if not hasattr(self.plugins[name].implementation, "gpumem_observe"):  # a framework that reports nothing
            return ()
        observations = self._answer(name, "gpumem_observe", tuple, module=module)
        wrong = [item for item in observations if not isinstance(item, Observation)]
        if wrong:
            said = f"it returned {wrong[0]!r} among its observations"
            raise PluginProblem(name, self.plugins[name].distribution, "gpumem_observe", said)
        return observations


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
