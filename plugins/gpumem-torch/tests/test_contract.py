"""gpumem-torch keeps the promises that every plugin keeps."""

from __future__ import annotations

from gpumem.plugin import FrameworkState
from gpumem.testing import PluginContract


class TestContract(PluginContract):
    plugin_name = "torch"
    framework_modules = ("torch", "torchgen", "functorch")

    def fresh_state(self) -> FrameworkState:
        """Return PyTorch in its newest tested version, not imported."""
        return FrameworkState({"torch": "2.14.1"}, evidence="torch is not imported")
