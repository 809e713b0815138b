"""The promises that every plugin keeps, kept by this one."""

from __future__ import annotations

from gpumem.plugin import FrameworkState
from gpumem.testing import PluginContract


class TestContract(PluginContract):
    plugin_name = "cupy"
    framework_modules = ("cupy", "cupyx", "cupy_backends")

    def fresh_state(self) -> FrameworkState:
        return FrameworkState(versions={"cupy-cuda12x": "14.2.0"}, evidence="not imported")
