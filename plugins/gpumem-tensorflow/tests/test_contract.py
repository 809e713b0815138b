"""The promises that every plugin keeps."""

from __future__ import annotations

from gpumem.plugin import FrameworkState
from gpumem.testing import PluginContract


class TestContract(PluginContract):
    plugin_name = "tensorflow"
    framework_modules = ("tensorflow", "keras")

    def fresh_state(self) -> FrameworkState:
        return FrameworkState(versions={"tensorflow": "2.21.0"}, evidence="not imported")
