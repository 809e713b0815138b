"""The hooks a framework plugin implements. The docstrings are the reference for plugin authors.

A plugin is any object (usually a module named ``plugin``) whose functions carry `gpumem.plugin.hookimpl`. It is
found through the entry point group ``gpumem``; the entry point has the name of the framework. A hook may name
fewer arguments than stand here. No hook may import the framework, except that `gpumem_apply` and
`gpumem_observe` are given its module, which was imported by somebody else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Protocol

import pluggy

from gpumem_core.model.budget import Budgets
from gpumem_core.model.device import Devices
from gpumem_core.model.framework import Framework, FrameworkState, NativeReading, Observation
from gpumem_core.model.plan import Plan, RuntimeCall
from gpumem_core.model.settings import FrameworkSettings

PROJECT = "gpumem"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

Undo = Callable[[], None]


class Progress(Protocol):
    """How a plugin tells what became of a deferred call. Its methods may be called from any thread and never raise."""

    def pending(self, until: str) -> None:
        """Say that the call is prepared and takes effect later; `until` names the event in words."""

    def done(self, note: str = "") -> None:
        """Say that the call has taken effect."""

    def failed(self, error: BaseException | str) -> None:
        """Say that the call failed. A warning GM203 is given at the user's line; nothing is raised."""

    def devices(self) -> Devices:
        """Return the devices with the driver's own totals if CUDA is initialised by now; starts nothing."""


@hookspec(firstresult=True)
def gpumem_framework() -> Framework:
    """Describe the framework: names, variables, what its limit counts, how each field is expressed.

    Called once, before any other hook. Must be quick and import nothing of the framework. ``allocate`` names the
    function by which commands such as ``gpumem prove`` allocate with the framework, ``out_of_memory`` the errors
    that mean "no room"; both may be left out.

    Example:
        >>> from gpumem.plugin import Framework, hookimpl
        >>> @hookimpl
        ... def gpumem_framework():
        ...     return Framework(
        ...         name="numbat",
        ...         title="Numbat",
        ...         variables=("NUMBAT_LIMIT",),
        ...         limit_unit="bytes",
        ...         allocate="gpumem_numbat.allocate:allocate",
        ...         out_of_memory=(r"^MemoryError: numbat: ",),
        ...     )
    """
    raise NotImplementedError  # pluggy never calls a specification


@hookspec(firstresult=True)
def gpumem_native(environ: Mapping[str, str], versions: Mapping[str, str]) -> NativeReading:
    """Read what the user's own variables mean to the framework, exactly as its own parser does.

    Args:
        environ: the environment without what gpumem wrote.
        versions: installed distributions of the framework with their versions.

    Returns:
        the policy fields the variables decide, and the values that are wrong or misleading. Pure: the same
        arguments give the same result, and nothing is changed.
    """
    raise NotImplementedError


@hookspec(firstresult=True)
def gpumem_state(environ: Mapping[str, str]) -> FrameworkState:
    """Find out in which state the framework is, without importing or starting anything.

    Looks at `importlib.metadata` for versions and at `sys.modules` for the rest. `imported` and `started` are
    yes or no only where that is certain.
    """
    raise NotImplementedError


@hookspec(firstresult=True)
def gpumem_plan(
    settings: FrameworkSettings, budgets: Budgets, state: FrameworkState, environ: Mapping[str, str]
) -> Plan:
    """Translate the policy into steps. Pure.

    Every field that `settings` and `budgets` ask for must appear in the fields of a step or in
    `not_expressed`; a framework that cannot hold a limit under an allocator keeps the limit and lists the
    allocator. A step whose variable already has its value in `environ` may be listed all the same: it is
    not written again. Lateness is not the plan's business: it names each step's deadline; but where `state`
    says that one way is closed and another still open, it takes the open one.

    Args:
        settings: the resolved settings of this framework.
        budgets: what it may hold per device.
        state: what `gpumem_state` said.
        environ: the environment without what gpumem wrote.
    """
    raise NotImplementedError


@hookspec(firstresult=True)
def gpumem_apply(call: RuntimeCall, module: ModuleType, progress: Progress) -> Undo | None:
    """Carry out one `RuntimeCall` of the plan with the framework's module.

    Called right after the import, or at once if the framework is imported already. An exception raised here
    makes the step fail; in whatever the call defers to a later moment nothing may be raised: it reports
    through `progress`.

    Args:
        call: the call, as the plan made it.
        module: the framework's top-level module.
        progress: where to tell what became of a deferred call.

    Returns:
        a function that takes the call back, or None where that cannot be done.
    """
    raise NotImplementedError


@hookspec(firstresult=True)
def gpumem_observe(module: ModuleType) -> tuple[Observation, ...]:
    """Read back what is in force, starting nothing and changing nothing.

    Args:
        module: the framework's top-level module, imported by somebody else.

    Returns:
        one observation per field and device that the framework reports; with ``value=None`` and a reason
        where it would report only after a start.
    """
    raise NotImplementedError
