"""A stand-in for TensorFlow: as much of its context as the plugin touches, with the same rules.

It follows tensorflow/python/eager/context.py of 2.21.0, and keeps one allocator per GPU and process, as
gpu_process_state.cc does: what comes after the first creation is accepted and ignored.
"""

from __future__ import annotations

import copy
import importlib.machinery
import os
import sys
import threading
from collections import namedtuple
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

MB = 1 << 20
TOTAL = 16 << 30
DEFAULT = TOTAL - 1536 * MB

PhysicalDevice = namedtuple("PhysicalDevice", ["name", "device_type"])  # noqa: PYI024 - as TensorFlow has it
LogicalDeviceConfiguration = namedtuple(  # noqa: PYI024
    "LogicalDeviceConfiguration",
    ["memory_limit", "experimental_priority", "experimental_device_ordinal"],
    defaults=(None, None, None),
)


def _module(name: str, **attributes: object) -> Any:
    module = ModuleType(name)
    vars(module).update(attributes)
    return module


class ConfigProto:
    def __init__(self) -> None:
        experimental = SimpleNamespace(use_unified_memory=False, use_cuda_malloc_async=False)
        self.gpu_options = SimpleNamespace(
            per_process_gpu_memory_fraction=0.0, allow_growth=False, experimental=experimental
        )

    def CopyFrom(self, other: ConfigProto) -> None:  # noqa: N802 - as protobuf has it
        self.gpu_options = copy.deepcopy(other.gpu_options)


class FakeTensorFlow:
    """The modules, and what the driver's side of them did.

    Attributes:
        allocators: the limit in bytes of each logical GPU, once made; per physical GPU.
        growth: whether memory grows, as read when the allocators were made.
        refuse_start: an exception that the next start raises.
    """

    def __init__(self, gpus: int) -> None:
        self.gpus = gpus
        self.allocators: dict[int, list[int]] = {}
        self.growth: bool | None = None
        self.allocator: str | None = None
        self.refuse_start: Exception | None = None
        self.starts = 0
        self.visible: set[int] = set(range(gpus))
        self.top = _module("tensorflow", __spec__=importlib.machinery.ModuleSpec("tensorflow", None))
        fake = self

        class Context(_FakeContext):
            def __init__(self) -> None:
                super().__init__(fake)

        class BaseSession:
            def __init__(self, target: str = "", graph: object = None, config: object = None) -> None:
                self.arguments = (target, graph, config)
                fake.create()

        class Server:
            def __init__(self, cluster: object) -> None:
                self.cluster = cluster
                fake.create()

        self.context = _module(
            "tensorflow.python.eager.context",
            Context=Context,
            LogicalDeviceConfiguration=LogicalDeviceConfiguration,
            ConfigProto=ConfigProto,
            config_pb2=SimpleNamespace(ConfigProto=ConfigProto),
            _context=None,
            context=self.current,
            pywrap_tfe=SimpleNamespace(
                TFE_ContextListDevices=self._listed,
                TF_DeviceListCount=len,
                TF_DeviceListType=lambda items, index: items[index][0],
                TF_DeviceListName=lambda items, index: f"/job:localhost/task:0/device:{items[index][0]}:{index}",
                TF_DeleteDeviceList=len,
            ),
        )
        self.session = _module("tensorflow.python.client.session", BaseSession=BaseSession)
        self.server = _module("tensorflow.python.training.server_lib", Server=Server)
        self.device_lib = _module("tensorflow.python.client._pywrap_device_lib", list_devices=self._list_devices)
        self.build = _module("tensorflow.python.platform.build_info", build_info={"is_cuda_build": True})
        amount = _module(
            "tensorflow.python.client.pywrap_tf_session", TF_DeviceListMemoryBytes=lambda items, index: items[index][1]
        )
        parts = (self.top, self.context, self.session, self.server, self.device_lib, self.build, amount)
        self.modules = {module.__name__: module for module in parts}

    def _listed(self, _handle: object) -> list[tuple[str, int]]:
        amounts = [amount for number in sorted(self.visible) for amount in self.allocators[number]]
        return [("CPU", 256 * MB), *(("GPU", amount) for amount in amounts)]

    def _list_devices(self, _config: object) -> None:
        self.create()

    def current(self) -> Any:
        if self.context._context is None:
            self.context._context = self.context.Context()
        return self.context._context

    def create(self, context: Any = None) -> None:
        """Create the GPU devices: read everything, make the allocators that are not there yet."""
        found = {}
        for number in range(self.gpus):
            found[number] = [DEFAULT]
        options = context.config.gpu_options if context is not None else ConfigProto().gpu_options
        if context is not None:
            fraction = options.per_process_gpu_memory_fraction
            if fraction and any(context._virtual_device_map.get(d) for d in context.gpus()):
                raise ValueError("It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.")
            for device in context.gpus():
                number = int(device.name[-1])
                own = context._virtual_device_map.get(device)
                if own:
                    found[number] = [int(item.memory_limit) * MB for item in own]
                elif fraction:
                    found[number] = [int(TOTAL * fraction)]
            self.visible = {int(d.name[-1]) for d in context.gpus() if d in context._visible_device_list}
        for number in self.visible:
            self.allocators.setdefault(number, found[number])
        if self.growth is None:
            forced = {"true": True, "false": False}.get(os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH", ""))
            self.growth = bool(options.allow_growth) if forced is None else forced
            self.allocator = os.environ.get("TF_GPU_ALLOCATOR")


class _FakeContext:
    def __init__(self, fake: FakeTensorFlow) -> None:
        self._fake = fake
        self._context_handle: object | None = None
        self._initialized = False
        self._physical_devices: list[PhysicalDevice] | None = None
        self._pluggable_devices: list[PhysicalDevice] | None = None
        self._visible_device_list: list[PhysicalDevice] = []
        self._memory_growth_map: dict[PhysicalDevice, bool | None] = {}
        self._virtual_device_map: dict[PhysicalDevice, list[Any]] = {}
        self._config: ConfigProto | None = None
        self._initialize_lock = threading.Lock()

    def list_physical_devices(self, device_type: str | None = None) -> list[PhysicalDevice]:
        if self._physical_devices is None:
            numbers = range(self._fake.gpus)
            self._physical_devices = [
                PhysicalDevice("/physical_device:CPU:0", "CPU"),
                *(PhysicalDevice(f"/physical_device:GPU:{n}", "GPU") for n in numbers),
            ]
            self._pluggable_devices = []
            self._visible_device_list = list(self._physical_devices)
            self._memory_growth_map = dict.fromkeys(self.gpus())
        return [d for d in self._physical_devices if device_type in (None, d.device_type)]

    def gpus(self) -> list[PhysicalDevice]:
        return [d for d in self._physical_devices or () if d.device_type == "GPU"]

    def set_visible_devices(self, devices: list[PhysicalDevice], device_type: str | None = None) -> None:
        self.list_physical_devices()
        kept = [d for d in self._visible_device_list if d.device_type != device_type]
        if self._visible_device_list == kept + devices:
            return
        self._check("Visible")
        self._visible_device_list = kept + devices

    def set_memory_growth(self, device: PhysicalDevice, enable: bool) -> None:
        self.list_physical_devices()
        if device in self._virtual_device_map:
            raise ValueError("Cannot set memory growth on device when virtual devices configured")
        self._check("Physical")
        self._memory_growth_map[device] = enable

    def set_logical_device_configuration(self, device: PhysicalDevice, configuration: list[Any]) -> None:
        self.list_physical_devices()
        if self._virtual_device_map.get(device) == configuration:
            return
        self._check("Virtual")
        self._virtual_device_map[device] = configuration

    def _check(self, what: str) -> None:
        if self._context_handle is not None:
            raise RuntimeError(f"{what} devices cannot be modified after being initialized")

    @property
    def config(self) -> ConfigProto:
        self.list_physical_devices()
        config = ConfigProto()
        if self._config is not None:
            config.CopyFrom(self._config)
        if not self._virtual_device_map:
            grows = {self._memory_growth_map[d] for d in self.gpus() if d in self._visible_device_list}
            if len(grows) > 1:
                raise ValueError("Memory growth cannot differ between GPU devices")
            config.gpu_options.allow_growth = bool(grows and grows.pop()) or config.gpu_options.allow_growth
        return config

    def ensure_initialized(self) -> None:
        if self._initialized:
            return
        with self._initialize_lock:
            if self._initialized:
                return
            if self._fake.refuse_start is not None:
                problem, self._fake.refuse_start = self._fake.refuse_start, None
                raise problem
            self._fake.create(self)
            self._fake.starts += 1
            self._context_handle = object()
            self._initialized = True


@pytest.fixture
def tensorflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTensorFlow]:
    """TensorFlow with two GPUs of 16 GiB, imported and not started; the environment is put back afterwards."""
    fake = FakeTensorFlow(2)
    for name, module in fake.modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    before = dict(os.environ)
    for name in list(os.environ):
        if name.startswith("TF_"):
            del os.environ[name]
    yield fake
    os.environ.clear()
    os.environ.update(before)
