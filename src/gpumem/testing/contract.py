"""`PluginContract`: the promises every framework plugin keeps, as tests to inherit.

    from gpumem.testing import PluginContract

    class TestNumbatContract(PluginContract):
        plugin_name = "numbat"

The plugin must be installed (its entry point is looked up). Its framework need not be: the tests run without it.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import sys
from importlib.metadata import entry_points
from types import ModuleType
from typing import ClassVar, cast

import pytest

from gpumem.testing.fresh_python import fresh_python
from gpumem.testing.policy_cases import POLICY_CASES, PolicyCase, budgets_and_settings
from gpumem_core.devices.cuda_state import cuda_state
from gpumem_core.model.budget import Budgets
from gpumem_core.model.framework import Answer, Framework, FrameworkState
from gpumem_core.model.plan import Comparison, Plan, RuntimeCall
from gpumem_core.model.settings import FrameworkSettings
from gpumem_core.plugins.registry import Registry

_LOADS = """
import json, sys
from importlib.metadata import entry_points
plugin, = entry_points(group="gpumem", name={name!r})
plugin.load()
from gpumem_core.plugins.registry import Registry
registry = Registry({{}})
registry.state({name!r}, {{}})
registry.native({name!r}, {{}}, {{}})
print(json.dumps([str(problem) for problem in registry.problems if problem.name == {name!r}]
    + [name for name in sys.modules if name.partition(".")[0] in {modules!r} and sys.modules[name] is not None]))
"""

_ALLOCATES = """
import inspect
from pkgutil import resolve_name
function = resolve_name({target!r})
parameters = inspect.signature(function).parameters.values()
print(sum(one.default is one.empty and one.kind is not one.KEYWORD_ONLY for one in parameters))
"""

_TWICE = """
import json, os
import gpumem
before = dict(os.environ)
gpumem.configure(cap="4GiB", growth=True, on_unsupported="ignore")
once = dict(os.environ)
first = gpumem.report().to_dict()["rows"]
gpumem.configure(cap="4GiB", growth=True, on_unsupported="ignore")
twice, second = dict(os.environ), gpumem.report().to_dict()["rows"]
left = gpumem.reset()
same = once == twice and first == second
print(json.dumps({"once_is_twice": same, "left": left, "restored": dict(os.environ) == before}))
"""


class PluginContract:
    """Inherit it, name the plugin, and run pytest.

    Attributes:
        plugin_name: the entry point's name, which is the framework's.
        framework_modules: top-level modules that belong to the framework and must not be imported by the plugin.
    """

    plugin_name: ClassVar[str]
    framework_modules: ClassVar[tuple[str, ...]] = ()

    def registry(self) -> Registry:
        """Return a registry with the installed plugins."""
        return Registry({})

    def framework(self) -> Framework:
        """Return what the plugin says about its framework."""
        registry = self.registry()
        assert self.plugin_name in registry.plugins, registry.problems
        return registry.plugins[self.plugin_name].framework

    def plan(self, case: PolicyCase, state: FrameworkState | None = None) -> Plan:
        """Return the plugin's plan for a case."""
        settings, budgets, _missing = budgets_and_settings(case, self.plugin_name)
        return self.plan_of(settings, budgets, state or self.fresh_state())

    def plan_of(self, settings: FrameworkSettings, budgets: Budgets, state: FrameworkState) -> Plan:
        """Return the plugin's plan for given arguments."""
        return self.registry().plan(self.plugin_name, settings, budgets, state, {})

    def fresh_state(self) -> FrameworkState:
        """Return the state of a framework that is installed in its newest tested version and not imported."""
        return FrameworkState(evidence="not imported")

    def test_it_loads_where_its_framework_cannot_be_imported(self) -> None:
        """A plugin loads, describes itself and reads states and variables without its framework."""
        modules = (self.plugin_name, *self.framework_modules)
        program = _LOADS.format(name=self.plugin_name, modules=modules)
        assert fresh_python(program, blocked=modules).json() == []

    def test_allocate_names_a_function_that_is_there_without_the_framework(self) -> None:
        """Where the plugin says how to allocate, the function can be imported, and imports nothing of the framework."""
        target = self.framework().allocate
        if target:
            program = _ALLOCATES.format(target=target)
            assert fresh_python(program, blocked=(self.plugin_name, *self.framework_modules)).json() == 1

    def test_patterns_of_out_of_memory_compile_and_are_no_catch_all(self) -> None:
        """Each pattern is a regular expression, and none of them matches just any error."""
        for pattern in self.framework().out_of_memory:
            assert re.compile(pattern).search("ValueError: the shape does not fit") is None, pattern

    def test_it_is_named_as_its_entry_point(self) -> None:
        """The entry point, the framework and the plugin have one name."""
        (point,) = {(p.name, p.value) for p in entry_points(group="gpumem", name=self.plugin_name)}
        assert (point[0], self.framework().name) == (self.plugin_name, self.plugin_name)

    def test_it_survives_an_empty_module_of_the_frameworks_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A user's own file that happens to have the framework's name breaks nothing."""
        monkeypatch.setitem(sys.modules, self.plugin_name, ModuleType(self.plugin_name))
        registry = self.registry()
        assert registry.state(self.plugin_name, {}).started is not Answer.YES
        assert isinstance(registry.observe(self.plugin_name, sys.modules[self.plugin_name]), tuple)

    def test_observing_starts_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Reading back neither initialises CUDA nor changes the environment."""
        monkeypatch.setitem(sys.modules, self.plugin_name, ModuleType(self.plugin_name))
        before = (cuda_state(), dict(os.environ), set(sys.modules))
        registry = self.registry()
        registry.observe(self.plugin_name, sys.modules[self.plugin_name])
        after = (cuda_state(), dict(os.environ))
        assert after == before[:2]
        assert not [m for m in set(sys.modules) - before[2] if m.partition(".")[0] in self.framework_modules]

    @pytest.mark.parametrize("case", POLICY_CASES, ids=lambda case: case.name)
    def test_a_plan_is_pure(self, case: PolicyCase) -> None:
        """The same arguments give an equal plan, and planning changes neither environment nor modules."""
        before = (dict(os.environ), set(sys.modules))
        first, second = self.plan(case), self.plan(case)
        assert first == second
        assert dict(os.environ) == before[0]
        assert not [m for m in set(sys.modules) - before[1] if m.partition(".")[0] in self.framework_modules]
        assert pickle.loads(pickle.dumps(first)) == first
        json.dumps([dict(s.action.arguments) for s in first.steps if isinstance(s.action, RuntimeCall)])

    @pytest.mark.parametrize("case", POLICY_CASES, ids=lambda case: case.name)
    def test_every_asked_field_is_expressed_or_listed(self, case: PolicyCase) -> None:
        """What a policy asks for is in the fields of a step or in `not_expressed`, with a reason."""
        plan = self.plan(case)
        _settings, _budgets, missing = budgets_and_settings(case, self.plugin_name)
        expressed = {field for step in plan.steps for field in step.fields}
        listed = {item.field for item in (*plan.not_expressed, *missing)}
        assert case.asks <= expressed | listed, plan
        assert all(item.reason and item.framework == self.plugin_name for item in plan.not_expressed)

    @pytest.mark.parametrize("case", POLICY_CASES, ids=lambda case: case.name)
    def test_every_step_says_why_and_what_it_expresses(self, case: PolicyCase) -> None:
        """Each step names its origin and at least one field."""
        for step in self.plan(case).steps:
            assert step.fields, step
            assert step.because.text, step

    def test_a_smaller_budget_never_yields_a_larger_limit(self) -> None:
        """Limits rise with the caps they come from."""
        previous = 0.0
        for amount in (100 << 20, (1 << 30) + 1, 1234567891, 4 << 30, 15 << 30):
            case = PolicyCase(str(amount), {"cap": amount})
            limits = [
                float(cast("float", e.value))
                for e in self.plan(case).expectations
                if e.field == "limit" and e.comparison is Comparison.LIMIT and e.device in (None, 0)
            ]
            if limits:
                assert min(limits) > previous, amount
                previous = min(limits)

    def test_applying_twice_equals_once_and_reset_restores_exactly(self) -> None:
        """The second equal `configure` changes nothing, and `reset` gives the environment back as it was."""
        result = fresh_python(_TWICE, environ={"GPUMEM_ASSUME_DEVICES": "2x16GiB"}).json()
        assert result == {"once_is_twice": True, "left": [], "restored": True}
