"""What this plugin has installed in each imported CuPy. The one place of the plugin that keeps state."""

from __future__ import annotations

from types import ModuleType
from weakref import WeakKeyDictionary

from gpumem_cupy.first_touch import FirstTouch

_INSTALLED: WeakKeyDictionary[ModuleType, FirstTouch] = WeakKeyDictionary()


def installed(module: ModuleType) -> FirstTouch | None:
    """Return what was installed in `module`, None before the first call."""
    return _INSTALLED.get(module)


def installed_or_new(module: ModuleType) -> FirstTouch:
    """Return what was installed in `module`, made if there is none yet."""
    return _INSTALLED.setdefault(module, FirstTouch(module))
