"""Who imported a module first, inferred from what is loaded: nobody was watching at that time."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

_MOST_FILES: Final = 500
"""So many sources are read at the most; an error message should not take minutes."""

_STANDARD: Final = sys.stdlib_module_names


def first_importer(framework: str) -> str:
    """Return a clause on who imported `framework` first, as far as can be inferred; empty if nothing is found.

    The import statements of the main program are followed in the order in which they ran. A module is entered into
    `sys.modules` anew when its import ends, so only modules that stand behind the framework can have imported it.
    """
    order = {name: position for position, name in enumerate(list(sys.modules))}
    if framework not in order:
        return ""
    search = _Search(framework, order)
    chain = search.chain("__main__")
    if not chain:
        # One search for all of them: what led nowhere from one module leads nowhere from the next.
        behind = [name for name in order if order[name] > order[framework] and not search.skips(name)]
        chain = next((found for name in behind if (found := search.chain(name))), [])
    return f"it was first imported by {' -> '.join(chain)} (inferred)" if chain else ""


class _Search:
    def __init__(self, framework: str, order: dict[str, int]) -> None:
        self.framework = framework
        self.order = order
        self.seen: set[str] = set()

    def skips(self, name: str) -> bool:
        """Whether a module is not read: the framework itself, gpumem, and the standard library import no framework."""
        top = name.partition(".")[0]
        return top in {self.framework, "gpumem"} or top.startswith("gpumem_") or top in _STANDARD

    def chain(self, name: str) -> list[str]:
        """Return the places that lead from a module to the import, ``file:line`` each, or nothing."""
        if name in self.seen or len(self.seen) >= _MOST_FILES:
            return []
        self.seen.add(name)
        module = sys.modules.get(name)
        path = _source(module)
        if path is None:
            return []
        for line, imported in _imports(path, _package(module)):
            if imported.partition(".")[0] == self.framework:
                return [f"{path.name}:{line}"]
            later = self.order.get(imported, -1) > self.order[self.framework]
            if later and not self.skips(imported) and (deeper := self.chain(imported)):
                return [f"{path.name}:{line}", *deeper]
        return []


def _source(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file) if isinstance(file, str) and file.endswith(".py") else None


def _package(module: ModuleType | None) -> str:
    package = getattr(module, "__package__", None)
    return package if isinstance(package, str) else ""


def _imports(path: Path, package: str) -> Iterator[tuple[int, str]]:
    """Yield the lines and names of the imports that run with the module, in their order."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in _running(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from ((node.lineno, name) for name in _with_parents(alias.name))
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            yield from ((node.lineno, name) for name in _with_parents(base) if name)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements that run at import, not those inside of functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield node
        yield from _running(node)


def _with_parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*parts, node.module or ""]).strip(".")
