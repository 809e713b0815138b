"""A finder that tells when a module has been imported, and leaves no trace on the module.

Rules, each from a scar of an older implementation: callbacks run outside of any lock (wrapt 217); the loader that
the module keeps is its own (wrapt 221); other finders are asked one by one, never through
`importlib.util.find_spec`, which takes import locks (ddtrace 17742); an error in a callback never makes the
user's import fail; the finder is removed when nothing is left to wait for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Callback = Callable[[str, ModuleType], None]


def fully_imported(name: str) -> ModuleType | None:
    """Return the module if it is imported to the end; one that is still initialising counts as not imported."""
    module = sys.modules.get(name)
    if not isinstance(module, ModuleType) or getattr(getattr(module, "__spec__", None), "_initializing", False):
        return None
    return module


class ImportWatch(MetaPathFinder):
    """Calls back once for each watched module, right after its import.

    Args:
        callback: called with the name and the module; must not raise.
    """

    def __init__(self, callback: Callback) -> None:
        """Watch nothing yet."""
        self._callback = callback
        self._names: set[str] = set()
        self._unfinished: set[str] = set()

    def add(self, name: str) -> None:
        """Watch for `name`. A module that is being imported right now is told about at the next import of anything."""
        if name in sys.modules:
            self._unfinished.add(name)
        self._names.add(name)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Watch for nothing any more."""
        self._names.clear()
        self._unfinished.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the other finders give, with a loader that tells; None for every other name."""
        if self._unfinished:
            self.tell_finished()
        if fullname not in self._names or fullname in self._unfinished:
            return None
        for finder in tuple(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(fullname, path, target) if find and finder is not self else None
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _TellingLoader(spec.loader, self._tell)
                return spec
        return None

    def tell_finished(self) -> None:
        """Tell about the modules that were being imported when they were added and are imported now."""
        for name in tuple(self._unfinished):
            module = fully_imported(name)
            if module is not None:
                self._tell(name, module)
            elif name not in sys.modules:  # that import failed; the next one is watched as any other
                self._unfinished.discard(name)

    def _tell(self, name: str, module: ModuleType) -> None:
        self._unfinished.discard(name)
        if name not in self._names:  # another thread was first
            return
        self._names.discard(name)
        if not self._names and self in sys.meta_path:
            sys.meta_path.remove(self)
        self._callback(name, module)


class _TellingLoader(Loader):
    """Delegates to the module's own loader, which it puts back before the module runs."""

    def __init__(self, loader: Loader, tell: Callback) -> None:
        self._loader = loader
        self._told = tell

    def __getattr__(self, name: str) -> Any:  # the loader's own type is unknown here
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        name = module.__name__
        self._loader.exec_module(module)
        # A module may replace itself in sys.modules; the user gets what stands there.
        self._told(name, sys.modules.get(name, module))
