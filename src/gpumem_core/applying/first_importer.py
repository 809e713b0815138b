"""Who imported a module first, inferred from what is loaded: nobody was watching at that time."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType


def first_importer(framework: str) -> str:
    """Return a clause that names the module which probably imported `framework` first, empty if none is found.

    An inference: modules that hold a reference to the framework or to one of its modules are looked at in the
    order in which they were imported, and their source is searched for the import statement. Modules of the
    framework itself are left out.
    """
    position = list(sys.modules).index(framework) if framework in sys.modules else -1
    candidates = [
        (name, module)
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType) and name.partition(".")[0] not in {framework, "gpumem", "gpumem_core"}
        and not name.startswith(f"gpumem_{framework}")
    ]
    # A module is entered into sys.modules when its import begins, so the importer stands before the framework.
    order = list(sys.modules)
    earlier = [item for item in candidates if order.index(item[0]) < position]
    for name, module in sorted(earlier, key=lambda item: -order.index(item[0])):
        line = _import_line(module, framework)
        if line:
            file = getattr(module, "__file__", None)
            place = f"{Path(file).name}:{line}" if file else name
            return f"it was first imported by {place}" + ("" if name == "__main__" else f" (module {name})") + ", as far as can be inferred"
    return ""


def _import_line(module: ModuleType, framework: str) -> int:
    """Return the line of the module's source that imports the framework at top level, 0 if there is none."""
    if not _refers_to(module, framework):
        return 0
    file = getattr(module, "__file__", None)
    if not file or not str(file).endswith(".py"):
        return 0
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name.partition(".")[0] == framework for alias in node.names):
            return node.lineno
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == framework:
            return node.lineno
    return 0


def _refers_to(module: ModuleType, framework: str) -> bool:
    for value in list(vars(module).values()):
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name.partition(".")[0] == framework:
            return True
    return False
