"""Plugins registered by code rather than found as installed distributions (frozen applications, tests)."""

from __future__ import annotations

from gpumem_core import state


def register(plugin: object, name: str | None = None) -> None:
    """Register a plugin object under the name of its framework.

    It replaces an installed plugin of the same name. Takes effect with the next `configure`, `explain` or
    `report`.

    Args:
        plugin: an object with functions marked by `hookimpl`.
        name: the framework's name; None asks the plugin itself (`gpumem_framework`).
    """
    if name is None:
        name = str(plugin.gpumem_framework().name)  # type: ignore[attr-defined]
    with state.lock():
        state.current().registered[name] = plugin
