"""Carries out, at the moment TensorFlow creates its context, the calls that wait for it."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from gpumem.plugin import Progress, RuntimeCall, Undo, cuda_state
from gpumem_tensorflow.context_view import (
    Context,
    LogicalDeviceConfiguration,
    PhysicalDevice,
    current_context,
    gpus,
    ordinal,
    visible_gpus,
)
from gpumem_tensorflow.prepare_context import (
    StartRefusedError,
    config_fraction,
    fit_config,
    missing_gpu,
    set_limit,
    set_visible,
)
from gpumem_tensorflow.read_back import StartRecord, device_limits, take_record
from gpumem_tensorflow.start_doors import StartDoors
from gpumem_tensorflow.variables import ALLOCATOR, GROWTH, read_allocator, read_growth

_ATTRIBUTE = "_gpumem_start_guard"
"""The guard is kept on TensorFlow's module: it lives and dies with what it guards."""


@dataclass(slots=True, eq=False)
class Wish:
    """One call of a plan that waits for the start.

    Attributes:
        call: the call.
        progress: where to tell what became of it.
        notes: what a person should know afterwards.
        failed: whether it was told as failed.
        limits: for a limit, what may be held per ordinal, in bytes.
    """

    call: RuntimeCall
    progress: Progress
    notes: list[str] = field(default_factory=list)
    failed: bool = False
    limits: dict[int, int] = field(default_factory=dict)

    def fail(self, problem: str) -> None:
        """Tell that the call failed."""
        self.failed = True
        self.progress.failed(problem)


@contextmanager
def _set_for_now(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Change variables, and put back what stood there."""
    before = {name: os.environ.get(name) for name in changes}
    _write(changes)
    try:
        yield
    finally:
        _write(before)


def _write(changes: Mapping[str, str | None]) -> None:
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class StartedError(Exception):
    """A call cannot be taken back, since TensorFlow has started."""


def find_guard(module: ModuleType) -> StartGuard | None:
    """Return the guard of TensorFlow's module of the context, None where none was installed."""
    guard: StartGuard | None = getattr(module, _ATTRIBUTE, None)
    return guard


def guard_of(module: ModuleType) -> StartGuard:
    """Return the guard, made anew where there is none."""
    guard = find_guard(module)
    if guard is None:
        guard = StartGuard(module)
        setattr(module, _ATTRIBUTE, guard)
    return guard


class StartGuard:
    """Holds the calls that wait for TensorFlow's start.

    Attributes:
        record: what TensorFlow read at its start, None before.
        clean: whether no CUDA context existed when the guard was made, so that no door had been passed.
    """

    def __init__(self, module: ModuleType) -> None:
        """Watch nothing yet: `add` does."""
        self._module = module
        self._lock = threading.RLock()
        self._wishes: list[Wish] = []
        self._doors = StartDoors(module, self._start)
        self._running = False
        self._before: dict[PhysicalDevice, list[LogicalDeviceConfiguration] | None] = {}
        self._ours: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}
        self._visible: tuple[object, object] = (None, None)
        self._config: tuple[object, object] = (None, None)
        self._finished: tuple[RuntimeCall, ...] = ()
        self.record: StartRecord | None = None
        self.clean = not cuda_state().contexts

    def calls(self, name: str) -> tuple[RuntimeCall, ...]:
        """Return the waiting calls of a name; after the start those that were carried out, whatever came later."""
        calls = self._finished if self.record is not None else tuple(wish.call for wish in self._wishes)
        return tuple(call for call in calls if call.name == name)

    def made(self, context: Context, device: PhysicalDevice) -> bool:
        """Tell whether the logical devices of a GPU are the guard's work and not the program's."""
        return device in self._ours and context._virtual_device_map.get(device) is self._ours[device]

    def add(self, call: RuntimeCall, progress: Progress) -> Undo:
        """Let a call wait for the start; the function that is returned takes it back.

        Raises:
            StartRefusedError: the context exists already.
        """
        context = current_context(self._module)
        if context is not None and context._context_handle is not None:
            raise StartRefusedError("TensorFlow's context exists already; its settings are read when it is created")
        wish = Wish(call, progress)
        with self._lock:
            self._wishes.append(wish)
            if not self._doors.watched:
                self._doors.watch()
        progress.pending("TensorFlow creates its context")
        return functools.partial(self._remove, wish)

    def _remove(self, wish: Wish) -> None:
        with self._lock:
            if wish in self._wishes:
                self._wishes.remove(wish)
            if not self._wishes:
                self._doors.leave()
                context = current_context(self._module)
                if context is not None and not context._initialized:
                    self._restore(context)
                if self.record is None and find_guard(self._module) is self:
                    delattr(self._module, _ATTRIBUTE)
        if self.record is not None:
            raise StartedError("TensorFlow has started with it and keeps it until the process ends")

    def _start(self, context: Context, original: Any) -> None:
        with self._lock:
            if context._initialized or self._running:
                original(context)
                return
            self._running = True
            try:
                self._prepare(context)
                with _set_for_now(self._read_otherwise(context)):
                    record = take_record(context, certain=True)
                    original(context)
                # The allocators are made once per process: a second context reads nothing anew.
                if self.record is None:
                    self.record, self._finished = record, tuple(wish.call for wish in self._wishes)
                self._finish(context)
            finally:
                self._running = False

    def _prepare(self, context: Context) -> None:
        """Set everything; what cannot be set is told, and keeps TensorFlow from starting where the policy says so."""
        context.list_physical_devices("GPU")  # calls cuInit; TensorFlow is starting anyway
        self._restore(context)
        refused: list[str] = []
        for name, carry_out in (
            ("variables", self._set_variables),
            ("visible", self._set_visible),
            ("limit", self._set_limits),
        ):
            for wish in [wish for wish in self._wishes if wish.call.name == name]:
                try:
                    carry_out(context, wish)
                except StartRefusedError as error:
                    wish.fail(str(error))
                    if wish.call.arguments.get("strict"):
                        refused.append(str(error))
        if refused:
            message = f"gpumem kept TensorFlow from starting: {'; '.join(refused)}"
            raise StartRefusedError(message)
        limited = any(wish.limits for wish in self._wishes)
        if limited and (fraction := config_fraction(context)):
            self._keep_fraction(context, fraction)
        config = context._config
        fit_config(self._module, context, limited=limited, managed=bool(self.calls("managed")))
        self._config = (config, context._config)

    def _restore(self, context: Context) -> None:
        """Take back what an earlier try configured that did not come to a start."""
        for device, before in self._before.items():
            if self.made(context, device):
                if before is None:
                    del context._virtual_device_map[device]
                else:
                    context._virtual_device_map[device] = before
        for name, (was, made) in (("_visible_device_list", self._visible), ("_config", self._config)):
            if made is not None and getattr(context, name) is made:
                setattr(context, name, was)
        self._before.clear()
        self._ours.clear()
        for wish in self._wishes:
            wish.failed = False
            wish.notes.clear()
            wish.limits.clear()

    def _set_variables(self, _context: Context, wish: Wish) -> None:
        variables: Any = wish.call.arguments["variables"]
        for name, value in variables.items():
            found = os.environ.get(name)
            if found == value:
                continue
            wish.notes.append(f"{name} was {found!r} by then and was set again")
            _write({name: value})

    def _set_visible(self, context: Context, wish: Wish) -> None:
        ordinals: Any = wish.call.arguments["ordinals"]
        before = context._visible_device_list
        try:
            set_visible(context, ordinals)
        finally:
            self._visible = (before, context._visible_device_list)

    def _set_limits(self, context: Context, wish: Wish) -> None:
        arguments: Any = wish.call.arguments
        found = {ordinal(device): device for device in gpus(context)}
        only, besides = arguments["device"], arguments["besides"]
        if only is not None and found and only not in found:
            raise StartRefusedError(missing_gpu([only], found))
        for device in visible_gpus(context):
            number = ordinal(device)
            if number == only or (only is None and number not in besides):
                limit, note = self._limit(context, device, arguments, wish.progress)
                wish.limits[number] = limit
                wish.notes += [note] if note else []

    def _limit(
        self, context: Context, device: PhysicalDevice, arguments: Mapping[str, Any], progress: Progress
    ) -> tuple[int, str]:
        before = context._virtual_device_map.get(device)
        bounds, share, planned = arguments["bounds"], arguments["share"], arguments["bytes"]
        limit, note = set_limit(self._module, context, device, bounds, share, planned, progress.devices())
        now = context._virtual_device_map[device]
        if now is not before:
            self._before[device] = before
            self._ours[device] = now
        return limit, note

    def _keep_fraction(self, context: Context, fraction: float) -> None:
        """Turn the ConfigProto's fraction into limits on GPUs that have none: it excludes logical devices."""
        progress = self._wishes[0].progress
        for device in visible_gpus(context):
            if device not in context._virtual_device_map and progress.devices().total(ordinal(device)) is not None:
                self._limit(context, device, {"bounds": [(fraction, 0)], "share": None, "bytes": None}, progress)

    def _read_otherwise(self, context: Context) -> dict[str, str | None]:
        """Return the variables that TensorFlow is to read otherwise than they stand, for the length of the start.

        The program's own set_memory_growth is kept: with any entry of logical devices, of a CPU even, TensorFlow
        does not pass it on (context.py, _compute_device_options). An allocator that holds no limit, chosen after
        the plan was made, is left out.
        """
        changes: dict[str, str | None] = {}
        grows = any(context._memory_growth_map.get(device) for device in visible_gpus(context))
        if grows and context._virtual_device_map and read_growth(os.environ) is None:
            changes[GROWTH] = "true"
        limits = [wish for wish in self._wishes if wish.limits]
        if limits and read_allocator(os.environ) in ("async", "direct"):
            changes[ALLOCATOR] = None
            limits[0].notes.append(f"{ALLOCATOR}={os.environ[ALLOCATOR]} holds no limit and was left out")
        return changes

    def _finish(self, context: Context) -> None:
        """Compare the allocators' limits with those that were set, and tell what became of each call."""
        found = device_limits(self._module, context) if any(wish.limits for wish in self._wishes) else {}
        in_force = {} if isinstance(found, str) else found
        for wish in self._wishes:
            above = [f"{in_force[number]} bytes on GPU {number}" for number, limit in wish.limits.items()
                     if in_force.get(number, 0) > limit]  # fmt: skip
            if above:
                wish.fail(f"TensorFlow's allocator existed before its context, with a limit of {', '.join(above)}")
            elif not wish.failed:
                wish.progress.done("; ".join(wish.notes))
