"""A stand-in for CuPy: its pools and allocators, with the layout of either version and the same rules.

It follows cupy/cuda/memory.pyx: version 14 makes the pools of all devices at once, version 13 each at its first use;
both read CUPY_GPU_MEMORY_LIMIT then; a limit of 0 is none; what is freed stays in the pool.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any, Literal

import pytest

from gpumem.plugin import CudaState, Device, Devices
from gpumem.testing import RecordedProgress

Layout = Literal["14", "13", "opaque"]
BLOCK = 512


class OutOfMemoryError(MemoryError):
    """As cupy.cuda.memory.OutOfMemoryError."""


class Pointer:
    """Memory that goes back to its pool when nobody holds it any more."""

    def __init__(self, free: Callable[[int], None], size: int) -> None:
        weakref.finalize(self, free, size)


class DevicePool:
    """One device's pool. Adjacent free memory counts as one block here."""

    def __init__(self, machine: FakeCupy, device: int) -> None:
        self._machine, self._device = machine, device
        self._limit = self._total = self._used = 0
        text = os.environ.get("CUPY_GPU_MEMORY_LIMIT")
        if text is not None:
            self.set_limit(size=int(text))

    def set_limit(self, size: int) -> None:
        if size < 0:
            message = f"memory limit size out of range: {size}"
            raise ValueError(message)
        self._limit = int(size)

    def get_limit(self) -> int:
        return self._limit

    def total_bytes(self) -> int:
        return self._total

    def free_all_blocks(self, _stream: object = None) -> None:
        self._machine.held[self._device] -= self._total - self._used
        self._total = self._used

    def malloc(self, size: int) -> Pointer:
        rounded = -(-size // BLOCK) * BLOCK
        missing = rounded - (self._total - self._used)
        if missing > 0:
            if self._limit and self._total + missing > self._limit:
                raise OutOfMemoryError(size, self._total, self._limit)
            self._machine.grant(self._device, missing)
            self._total += missing
        self._used += rounded
        return Pointer(self._free, rounded)

    def _free(self, size: int) -> None:
        self._used -= size


class FakeCupy:
    """The module, and what the driver's side of it saw.

    Attributes:
        module: stands for ``cupy``.
        current: the current device.
        granted: pairs of device and bytes that the driver granted, in order.
        initialised: whether CUDA runs.
        async_refused: an exception that making a MemoryAsyncPool raises.
    """

    def __init__(self, layout: Layout, totals: tuple[int, ...]) -> None:
        self.layout = layout
        self.totals = totals
        self.current = 0
        self.initialised = False
        self.contexts: set[int] = set()
        self.held = [0] * len(totals)
        self.granted: list[tuple[int, int]] = []
        self.async_refused: Exception | None = None
        self.module = self._make_module()

    def grant(self, device: int, size: int) -> None:
        self.initialised = True
        self.contexts.add(device)
        if self.held[device] + size > self.totals[device]:
            raise OutOfMemoryError(size, self.held[device])
        self.held[device] += size
        self.granted.append((device, size))

    def state(self) -> CudaState:
        """Stands for `gpumem.plugin.cuda_state`."""
        if not self.initialised:
            return CudaState("not initialised")
        devices = tuple(Device(ordinal, total=total) for ordinal, total in enumerate(self.totals))
        return CudaState("initialised", devices, frozenset(self.contexts))

    def progress(self) -> RecordedProgress:
        found = tuple(Device(ordinal, total=total) for ordinal, total in enumerate(self.totals))
        return RecordedProgress(Devices(found, complete=True, source="cuda", driver=True))

    def _device(self) -> int:
        self.initialised = True
        return self.current

    def _make_module(self) -> Any:
        machine = self

        def _malloc(size: int) -> Pointer:
            machine.grant(machine._device(), size)
            return Pointer(lambda _size: None, size)

        def malloc_managed(size: int) -> Pointer:
            return _malloc(size)

        class MemoryPool:
            __slots__ = ("_allocator", "_pools")

            def __init__(self, allocator: Any = None) -> None:
                self._allocator = allocator or _malloc
                self._pools: Any = None
                if machine.layout == "13":
                    self._pools = defaultdict(lambda: DevicePool(machine, machine.current))
                if machine.layout == "opaque":
                    self._pools = Hidden()

            def _own(self) -> DevicePool:
                current = machine._device()
                if machine.layout == "opaque":
                    return self._pools.get(machine, current)
                if self._pools is None:
                    self._pools = tuple(DevicePool(machine, device) for device in range(len(machine.totals)))
                return self._pools[current]

            def malloc(self, size: int) -> Pointer:
                return self._own().malloc(size)

            def set_limit(self, size: int) -> None:
                self._own().set_limit(size=size)

            def get_limit(self) -> int:
                return self._own().get_limit()

            def total_bytes(self) -> int:
                return self._own().total_bytes()

        class MemoryAsyncPool:
            def __init__(self) -> None:
                if machine.async_refused:
                    raise machine.async_refused
                machine._device()
                machine.contexts.update(range(len(machine.totals)))
                self._pools = [1000 + device for device in range(len(machine.totals))]
                self._own = [DevicePool(machine, device) for device in range(len(machine.totals))]
                machine.handles.update(zip(self._pools, self._own, strict=True))

            def malloc(self, size: int) -> Pointer:
                return self._own[machine._device()].malloc(size)

            def set_limit(self, size: int) -> None:
                self._own[machine._device()].set_limit(size)

            def get_limit(self) -> int:
                return self._own[machine._device()].get_limit() or (1 << 64) - 1

            def total_bytes(self) -> int:
                return self._own[machine._device()].total_bytes()

        local = threading.local()
        chosen: list[Any] = [None]

        def set_allocator(allocator: Any = None) -> None:
            if getattr(local, "allocator", None) is not None:
                raise ValueError("Can't change the global allocator inside `using_allocator` context manager")
            chosen[0] = allocator or _malloc

        @contextmanager
        def using_allocator(allocator: Any) -> Iterator[None]:
            local.allocator = allocator
            yield
            local.allocator = None

        self.handles: dict[int, DevicePool] = {}
        runtime = SimpleNamespace(
            getDevice=self._device,
            getDeviceCount=lambda: len(self.totals),
            cudaMemPoolAttrReleaseThreshold="threshold",
            cudaMemPoolAttrReservedMemCurrent="reserved",
            memPoolGetAttribute=self._get_attribute,
            memPoolSetAttribute=lambda handle, _name, value: self.handles[handle].set_limit(value),
        )
        module: Any = ModuleType("cupy")
        module.cuda = SimpleNamespace(
            MemoryPool=MemoryPool,
            MemoryAsyncPool=MemoryAsyncPool,
            malloc_managed=malloc_managed,
            memory=SimpleNamespace(_malloc=_malloc),
            runtime=runtime,
            set_allocator=set_allocator,
            using_allocator=using_allocator,
            get_allocator=lambda: getattr(local, "allocator", None) or chosen[0],
        )
        pool = MemoryPool()
        module.get_default_memory_pool = lambda: pool
        set_allocator(pool.malloc)
        return module

    def _get_attribute(self, handle: int, name: str) -> int:
        pool = self.handles[handle]
        return pool.total_bytes() if name == "reserved" else (pool.get_limit() or (1 << 64) - 1)

    def allocate(self, size: int, device: int = 0) -> Pointer:
        """Stands for ``with cupy.cuda.Device(device): cupy.empty(size, "u1")``."""
        self.current = device
        pointer: Pointer = self.module.cuda.get_allocator()(size)
        return pointer


class Hidden:
    """Pools of single devices where nobody can look."""

    __slots__ = ("get",)

    def __init__(self) -> None:
        pools: dict[int, DevicePool] = {}

        def get(machine: FakeCupy, device: int) -> DevicePool:
            return pools.setdefault(device, DevicePool(machine, device))

        self.get = get


@pytest.fixture
def make_cupy(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeCupy]:
    """Make a CuPy of a layout on devices of some totals; `cuda_state` tells of its CUDA."""
    monkeypatch.delenv("CUPY_GPU_MEMORY_LIMIT", raising=False)

    def make(layout: Layout = "14", totals: tuple[int, ...] = (16 << 30, 16 << 30)) -> FakeCupy:
        cupy = FakeCupy(layout, totals)
        for name in ("detect", "observe", "runtime"):
            monkeypatch.setattr(f"gpumem_cupy.{name}.cuda_state", cupy.state)
        return cupy

    return make


@pytest.fixture(params=["14", "13"])
def cupy(request: pytest.FixtureRequest, make_cupy: Callable[..., FakeCupy]) -> FakeCupy:
    """CuPy 14 and CuPy 13 on two devices of 16 GiB."""
    return make_cupy(request.param)
