"""Only state.py holds module-level mutable state."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ALLOWED = {
    "gpumem_core/state.py": "the one address",
    "gpumem_core/suggestions.py": "prefer() must not load the machinery, not even state.py: it appends to a list",
    "gpumem/__init__.py": "names that are loaded when they are first used stay loaded, as in any import",
}
"""The modules that may change what they hold at module level, each with its reason."""

CACHES = {"cache", "lru_cache"}
MUTATORS = {"append", "add", "update", "clear", "pop", "popitem", "setdefault", "extend", "insert", "remove", "discard"}


def changes(source: str) -> list[str]:
    """Return the places where a module changes what it holds at module level."""
    tree = ast.parse(source)
    names = {name for node in tree.body for name in _bound(node)}
    found = []
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Global):
            found.append(f"{line}: global {', '.join(node.names)}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
            if isinstance(node.func.value, ast.Name) and node.func.value.id in names:
                found.append(f"{line}: {ast.unparse(node.func)}()")
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            target = ast.unparse(node.value)
            if target in names or target == "globals()":
                found.append(f"{line}: {ast.unparse(node)}")
        elif isinstance(node, ast.FunctionDef) and any(_word(d) in CACHES for d in node.decorator_list):
            found.append(f"{line}: a cached function {node.name}")
    return found


def _bound(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _word(node: ast.expr) -> str:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node).rpartition(".")[2]


def test_only_the_listed_modules_hold_state(root: Path) -> None:
    """No other module changes a module-level name, a module-level container, or caches results."""
    found = {
        name: places
        for path in (root / "src").rglob("*.py")
        if (places := changes(path.read_text(encoding="utf-8")))
        and (name := path.relative_to(root / "src").as_posix()) not in ALLOWED
    }
    assert found == {}


@pytest.mark.parametrize("name", ALLOWED)
def test_every_listed_module_needs_its_place(root: Path, name: str) -> None:
    """A module that holds no state any more is removed from the list."""
    assert changes((root / "src" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "source",
    [
        "_seen = set()\ndef f(x):\n    _seen.add(x)",
        "_table = {}\ndef f(x):\n    _table[x] = 1",
        "_last = None\ndef f(x):\n    global _last\n    _last = x",
        "import functools\n@functools.lru_cache(maxsize=None)\ndef f():\n    return 1",
    ],
)
def test_the_check_finds_state(source: str) -> None:
    """Containers that are changed, names that are rebound and caches are found."""
    assert changes(source)
