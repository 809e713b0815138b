"""An invented JAX with the attributes that the plugin reads, in the shape of an old and of a new version."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gpumem_jax.state import STATE, PluginState


@pytest.fixture(autouse=True)
def environment_and_state_are_left_as_found() -> Iterator[None]:
    """Fail a test that leaves a variable or a state of the plugin behind."""
    before = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    yield
    after = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    left = PluginState(STATE.intention, dict(STATE.written))
    STATE.intention = None
    STATE.written.clear()
    assert after == before
    assert left == PluginState()


class FakeDevice:
    """A device of the GPU client."""

    def __init__(self, ordinal: int, statistics: dict[str, int] | None) -> None:
        self.id = self.local_hardware_id = ordinal
        self.statistics = statistics

    def memory_stats(self) -> dict[str, int] | None:
        return self.statistics


class FakeClient:
    """A client with devices."""

    def __init__(self, devices: list[FakeDevice]) -> None:
        self.devices = devices

    def local_devices(self) -> list[FakeDevice]:
        return self.devices


class FakeConfig:
    """JAX's configuration."""

    def __init__(self, bridge: Any, *, dictionaries: bool) -> None:
        self.jax_pjrt_client_create_options: Any = None
        self.jax_platforms: str | None = None
        self._bridge = bridge
        self._dictionaries = dictionaries

    def update(self, name: str, value: Any) -> None:
        if name == "jax_cuda_visible_devices":
            self._bridge.CUDA_VISIBLE_DEVICES.value = value
            return
        if isinstance(value, dict) and not self._dictionaries:
            raise ValueError("new string config value must be None or of type str")
        setattr(self, name, value)


def _module(name: str) -> Any:
    return ModuleType(name)


class FakeJax:
    """The modules, and what a program that uses JAX makes it do."""

    def __init__(self, version: str) -> None:
        self.old = tuple(int(part) for part in version.split(".")[:3]) < (0, 6, 2)
        self.module = _module("jax")
        self.module.__version__ = version
        self.module.__spec__ = ModuleSpec("jax", None)
        self.bridge = _module("jax._src.xla_bridge")
        self.bridge._plugins_registered = False
        self.bridge._backends = {}
        self.bridge._backend_factories = {}
        self.bridge._backend_lock = threading.Lock()
        self.bridge._plugin_lock = threading.Lock()
        self.bridge.CUDA_VISIBLE_DEVICES = SimpleNamespace(value="all")
        self.callbacks: list[Callable[..., object]] = []
        self.bridge.register_plugin_callbacks = self.callbacks.append
        self.config = self.module.config = FakeConfig(self.bridge, dictionaries=not self.old)
        self.hardware = _module("jax._src.hardware_utils")
        self.hardware.has_visible_nvidia_gpu = lambda: True

    def register_cuda(self) -> dict[str, Any]:
        """Freeze the options, as the CUDA backend does when it is discovered."""
        options: dict[str, Any] = {
            "platform_name": "cuda",
            "allocator": os.environ.get("XLA_PYTHON_CLIENT_ALLOCATOR", "default"),
        }
        if "XLA_PYTHON_CLIENT_MEM_FRACTION" in os.environ:
            options["memory_fraction"] = float(os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"])

        def make(name: str, options: Any = None) -> object:
            return name, options

        def closure() -> object:
            return make("cuda", options)

        factory = closure if self.old else partial(make, "cuda", options=options)
        self.bridge._backend_factories["cuda"] = SimpleNamespace(factory=factory)
        return options

    def discover(self, initialize: Callable[[], None], *, plugin_first: bool = True) -> dict[str, Any]:
        """Discover backends in one of the two orders, and return the frozen options."""
        with self.bridge._plugin_lock:
            if plugin_first:
                initialize()
            options = self.register_cuda()
            if not plugin_first:
                initialize()
            for callback in self.callbacks:
                callback(c_api=object())
            self.bridge._plugins_registered = True
        return options

    def options_in_use(self) -> dict[str, Any]:
        """Return the options with which a client would be made."""
        factory = self.bridge._backend_factories["cuda"].factory
        frozen = factory()[1] if self.old else factory.keywords["options"]
        configured = self.config.jax_pjrt_client_create_options
        return {**frozen, **(configured if isinstance(configured, dict) else {})}

    def start(self, *devices: FakeDevice) -> None:
        """Make the clients."""
        self.bridge._backends = {"cpu": FakeClient([])}
        if devices:
            self.bridge._backends["cuda"] = FakeClient(list(devices))


@pytest.fixture(params=["0.4.35", "0.12.0.1"])
def fake_jax(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> FakeJax:
    """An imported JAX of the oldest and of the newest supported shape."""
    fake = FakeJax(request.param)
    monkeypatch.setitem(sys.modules, "jax", fake.module)
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", fake.bridge)
    monkeypatch.setitem(sys.modules, "jax._src.hardware_utils", fake.hardware)
    return fake


@pytest.fixture
def device() -> type[FakeDevice]:
    """The class of invented devices."""
    return FakeDevice
