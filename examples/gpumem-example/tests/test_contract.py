"""The compliance kit: every promise of a plugin, as inherited tests."""

from __future__ import annotations

from gpumem.testing import PluginContract


class TestNumbatContract(PluginContract):
    """numbat keeps the promises."""

    plugin_name = "numbat"
    framework_modules = ("numbat",)
