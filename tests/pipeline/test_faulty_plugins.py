"""A faulty plugin is named with its hook, and harms nobody else."""

import importlib
import os

import pytest
from numbat_plugin import NumbatPlugin

import gpumem
from gpumem import GpumemWarning, PluginError
from gpumem.plugin import Framework, Plan, hookimpl, register
from gpumem_core.sizes import GIB

HOOKS = ["gpumem_framework", "gpumem_native", "gpumem_state", "gpumem_plan"]


def broken(hook, error=None, answer=None):
    """Return a plugin whose `hook` raises `error`, or answers `answer`."""

    def gpumem_hook(_self):
        if error is not None:
            raise error
        return answer

    gpumem_hook.__name__ = hook
    return type("Broken", (NumbatPlugin,), {hook: hookimpl(gpumem_hook)})()


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.usefixtures("quokka")
def test_a_plugin_that_raises_is_named_and_left_out(hook):
    register(broken(hook, ZeroDivisionError("oh")), "numbat")
    with pytest.warns(GpumemWarning, match=f"GM205.*numbat.*registered by code.*{hook}.*ZeroDivisionError: oh"):
        report = gpumem.configure(cap="8GiB")
    assert os.environ["QUOKKA_FRACTION"] == "0.5"
    assert [(row.framework, row.state) for row in report.rows if row.field == "plugin"] == [("numbat", "failed")]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.usefixtures("quokka")
def test_a_plugin_that_raises_is_an_error_where_the_policy_names_its_framework(hook, environ):
    before = environ()
    register(broken(hook, ZeroDivisionError("oh")), "numbat")
    with pytest.raises(PluginError, match=f"numbat.*{hook}.*nothing was changed"):
        gpumem.configure(cap="8GiB", frameworks={"numbat": {"growth": True}})
    assert environ() == before


@pytest.mark.parametrize("hook", ["gpumem_framework", "gpumem_state", "gpumem_plan"])
@pytest.mark.parametrize("answer", [None, 42, "plan"])
@pytest.mark.usefixtures("quokka")
def test_a_plugin_that_answers_nonsense_is_a_plugin_that_failed(hook, answer):
    register(broken(hook, answer=answer), "numbat")
    with pytest.warns(GpumemWarning, match=f"GM205.*numbat.*{hook}"):
        gpumem.configure(cap="8GiB")
    assert os.environ["QUOKKA_FRACTION"] == "0.5"


@pytest.mark.usefixtures("quokka")
def test_a_plugin_that_answers_for_another_framework_is_a_plugin_that_failed():
    register(broken("gpumem_plan", answer=Plan("quokka")), "numbat")
    with pytest.warns(GpumemWarning, match="GM205.*numbat"):
        gpumem.configure(cap="8GiB")


@pytest.mark.usefixtures("quokka")
def test_a_misnamed_plugin_is_left_out_with_both_names():
    register(broken("gpumem_framework", answer=Framework("wombat", "Wombat")), "numbat")
    with pytest.warns(GpumemWarning, match="'wombat'.*'numbat'"):
        gpumem.configure(cap="8GiB")
    assert os.environ["QUOKKA_FRACTION"] == "0.5"


@pytest.mark.usefixtures("quokka")
def test_a_hook_that_nobody_specified_is_a_fault_of_the_plugin():
    class Misspelt(NumbatPlugin):
        @hookimpl
        def gpumem_plann(self):
            return None

    register(Misspelt(), "numbat")
    with pytest.warns(GpumemWarning, match="GM205.*numbat.*gpumem_plann"):
        gpumem.configure(cap="8GiB")
    assert os.environ["QUOKKA_FRACTION"] == "0.5"


@pytest.mark.usefixtures("quokka")
def test_a_plugin_whose_apply_fails_loses_its_own_changes_only():
    importlib.import_module("numbat")
    register(broken("gpumem_apply", ZeroDivisionError("oh")), "numbat")
    with pytest.warns(GpumemWarning, match="GM203.*numbat.*gpumem_apply.*taken back"):
        report = gpumem.configure(cap="8GiB", devices={1: {"cap": "1GiB"}})
    assert "NUMBAT_LIMIT" not in os.environ
    assert os.environ["QUOKKA_FRACTION"] == "0.5"
    assert {row.state for row in report.rows_of("numbat")} == {"failed"}
    assert not report.ok


def test_a_failing_apply_takes_the_calls_before_it_back():
    class Second(NumbatPlugin):
        @hookimpl
        def gpumem_apply(self, call, module, progress):
            if call.arguments["device"] == 1:
                raise ZeroDivisionError("oh")
            return super().gpumem_apply(call, module, progress)

    module = importlib.import_module("numbat")
    register(Second())
    with pytest.warns(GpumemWarning, match="GM203"):
        gpumem.configure(cap="8GiB", devices={0: {"cap": "2GiB"}, 1: {"cap": "1GiB"}})
    assert module.device_limits == {}


def test_the_others_are_applied_even_where_the_warning_is_an_error(quokka):
    importlib.import_module("numbat")
    state = {"numbat": broken("gpumem_apply", ZeroDivisionError("oh")), "quokka": quokka}
    gpumem.reset()
    for name, plugin in state.items():
        register(plugin, name)
    with pytest.raises(GpumemWarning):
        gpumem.configure(cap="8GiB", devices={1: {"cap": "1GiB"}})
    assert os.environ["QUOKKA_FRACTION"] == "0.5"


@pytest.mark.usefixtures("quokka")
def test_a_variable_that_another_framework_needs_too_survives_the_failure_of_the_first():
    class Sharing(NumbatPlugin):
        @hookimpl
        def gpumem_plan(self, settings, budgets):
            plan = super().gpumem_plan(settings, budgets)
            from numbat_plugin import variable

            shared = variable("SHARED_MANAGED", "1", ("allocator",), settings.allocator.origin)
            return Plan("numbat", (shared, *plan.steps), plan.expectations, plan.not_expressed)

        @hookimpl
        def gpumem_apply(self):
            raise ZeroDivisionError("oh")

    importlib.import_module("numbat")
    gpumem.reset()
    register(Sharing(), "numbat")
    with pytest.warns(GpumemWarning, match="GM203"):
        gpumem.configure(allocator="managed", devices={1: {"cap": "1GiB"}}, on_late="ignore")
    assert os.environ["SHARED_MANAGED"] == "1"


def test_a_plugin_that_fails_to_apply_is_an_error_where_the_policy_names_it_and_the_others_stay():
    importlib.import_module("numbat")
    gpumem.reset()
    register(broken("gpumem_apply", ZeroDivisionError("oh")), "numbat")
    with pytest.raises(gpumem.PluginError, match=r"numbat .* failed in gpumem_apply: ZeroDivisionError: oh"):
        gpumem.configure(frameworks={"numbat": {"devices": {1: {"cap": "1GiB"}}}}, cap="8GiB")
    assert "NUMBAT_LIMIT" not in os.environ


def test_a_deferred_failure_never_raises_from_the_users_import(numbat, monkeypatch):
    monkeypatch.setattr(
        type(numbat), "gpumem_apply", broken("gpumem_apply", ZeroDivisionError("oh")).gpumem_apply.__func__
    )
    gpumem.configure(cap="8GiB", devices={1: {"cap": "1GiB"}})
    importlib.import_module("numbat")
    row = next(row for row in gpumem.report().rows_of("numbat") if row.device == 1)
    assert row.state == "failed"
    assert "ZeroDivisionError" in row.why
    with pytest.raises(gpumem.VerificationError, match="ZeroDivisionError"):
        gpumem.verify(strict=True)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"error": ZeroDivisionError("oh")}, "ZeroDivisionError: oh"),
        ({"answer": [1]}, "not a tuple"),
        ({"answer": (1,)}, "1"),
    ],
)
def test_a_faulty_read_back_is_unknown_with_the_reason(fault, said):
    register(broken("gpumem_observe", **fault))
    gpumem.configure(cap="8GiB")
    importlib.import_module("numbat")
    (row,) = gpumem.report().rows_of("numbat")
    assert row.state == "unknown"
    assert "failed in gpumem_observe" in row.why
    assert said in row.why


class Site:
    """A site's own plugin: it halves every plan's cap."""

    @hookimpl(wrapper=True)
    def gpumem_plan(self):
        plan = yield
        from dataclasses import replace

        from gpumem.plugin import SetVariable

        clamped = tuple(replace(step, action=SetVariable("NUMBAT_LIMIT", str(GIB))) for step in plan.steps)
        return replace(plan, steps=clamped)


@pytest.mark.usefixtures("numbat")
def test_a_site_plugin_may_clamp_every_plan():
    register(Site(), "site")
    gpumem.configure(cap="8GiB")
    assert os.environ["NUMBAT_LIMIT"] == str(GIB)


@pytest.mark.usefixtures("numbat")
def test_a_faulty_site_plugin_is_blamed_itself():
    class Faulty:
        @hookimpl(wrapper=True)
        def gpumem_plan(self):
            yield
            raise ZeroDivisionError("oh")

    register(Faulty(), "site")
    with pytest.warns(GpumemWarning, match="the plugin site .a site plugin that wraps the call. failed in gpumem_plan"):
        gpumem.configure(cap="8GiB")


@pytest.mark.usefixtures("numbat")
def test_a_faulty_site_plugin_does_not_leave_a_call_in_force():
    class Faulty:
        @hookimpl(wrapper=True)
        def gpumem_apply(self):
            if self:
                raise ZeroDivisionError("oh")
            yield

    module = importlib.import_module("numbat")
    register(Faulty(), "site")
    with pytest.warns(GpumemWarning, match="GM203"):
        gpumem.configure(cap="8GiB", devices={1: {"cap": "1GiB"}})
    assert module.device_limits == {}
