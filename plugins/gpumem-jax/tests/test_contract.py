"""The promises that every plugin keeps."""

from __future__ import annotations

from typing import ClassVar

from gpumem.plugin import FrameworkState
from gpumem.testing import PluginContract


class TestJaxContract(PluginContract):
    plugin_name: ClassVar[str] = "jax"
    framework_modules: ClassVar[tuple[str, ...]] = ("jax", "jaxlib", "jax_plugins", "numpy")

    def fresh_state(self) -> FrameworkState:
        """JAX 0.12.0, installed and not imported."""
        names = ("jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt")
        return FrameworkState(dict.fromkeys(names, "0.12.0.1"), evidence="not imported")
