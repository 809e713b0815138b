"""Imports run one way: gpumem, api, pipeline, stages, then plugins, applying and devices, then the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

LAYERS = (
    ("model", "sizes", "errors"),
    ("state", "suggestions", "warnings"),
    ("plugins", "applying", "devices"),
    (
        "declarations",
        "resolve_policy",
        "decide_policy",
        "divide_budget",
        "make_plans",
        "verify_plan",
        "build_report",
        "render_report",
    ),
    ("pipeline",),
    ("api",),
    ("cli",),
)
"""The parts of gpumem_core from the bottom to the top. A part imports its own layer and those below."""

EXCEPTIONS = {
    ("model.report", "render_report"): "str(report) is how a person reads it; imported in the call alone",
    ("suggestions", "pipeline"): "a suggestion after configure() is followed where it is in time; imported in the call",
}


def part_of(module: str) -> str:
    """Return the part of gpumem_core that a dotted module below it belongs to."""
    return module.partition(".")[0]


def layer_of(module: str) -> int:
    """Return the layer of a module below gpumem_core."""
    for number, parts in enumerate(LAYERS):
        if part_of(module) in parts:
            return number
    message = f"gpumem_core.{module} belongs to no layer: add it to LAYERS"
    raise AssertionError(message)


def imports(source: str) -> Iterator[str]:
    """Yield the modules of gpumem_core and gpumem that a source imports when it runs, dotted."""

    def visit(node: ast.AST) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.ImportFrom) and child.module:
                # Only submodules matter, not names: "from gpumem_core import state" is a module as well.
                deeper = [f"{child.module}.{alias.name}" for alias in child.names] if child.module in ROOTS else []
                yield from deeper or [child.module]
            elif isinstance(child, ast.Import):
                yield from (alias.name for alias in child.names)
            yield from visit(child)

    return (name for name in visit(ast.parse(source)) if name.partition(".")[0] in ROOTS)


ROOTS = ("gpumem_core", "gpumem")


def wrong(module: str, imported: str) -> str:
    """Return what is wrong with an import by a module below gpumem_core, empty if nothing is."""
    if imported.partition(".")[0] == "gpumem":
        # The version and the docstrings' examples are public; the machinery never needs the public package.
        return "" if part_of(module) == "cli" else f"{module} imports {imported}"
    below = imported.removeprefix("gpumem_core.")
    if part_of(module) == "model" and part_of(below) not in LAYERS[0]:
        allowed = (module, below) in EXCEPTIONS
        return "" if allowed else f"{module} imports {below}: the model imports only itself, sizes and errors"
    if layer_of(below) > layer_of(module) and (module, below) not in EXCEPTIONS:
        return f"{module} imports {below}, which is above it"
    return ""


def core_modules(root: Path) -> dict[str, Path]:
    """Return the modules below gpumem_core with their files."""
    folder = root / "src" / "gpumem_core"
    found = {".".join(path.relative_to(folder).with_suffix("").parts): path for path in folder.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for name, path in found.items() if name != "__init__"}


def test_imports_of_the_core_run_one_way(root: Path) -> None:
    """No module of the core imports what is above it, and the model imports only itself, sizes and errors."""
    found = [
        problem
        for module, path in core_modules(root).items()
        for imported in imports(path.read_text(encoding="utf-8"))
        if (problem := wrong(module, imported))
    ]
    assert found == []


def test_every_exception_is_needed(root: Path) -> None:
    """An exception that nothing needs any more is removed from the list."""
    modules = core_modules(root)
    for module, imported in EXCEPTIONS:
        assert f"gpumem_core.{imported}" in set(imports(modules[module].read_text(encoding="utf-8"))), (
            module,
            imported,
        )


def test_only_the_registry_touches_pluggy(root: Path) -> None:
    """The untyped calls of pluggy stay behind the registry; the specifications only mark functions."""
    users = {
        path.relative_to(root / "src").as_posix()
        for path in (root / "src").rglob("*.py")
        if any(
            (isinstance(node, ast.Import) and any(alias.name.partition(".")[0] == "pluggy" for alias in node.names))
            or (isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "pluggy")
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
    }
    assert users <= {"gpumem_core/plugins/registry.py", "gpumem_core/plugins/hookspecs.py"}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("model.plan", "from gpumem_core.plugins import registry"),
        ("model.plan", "from gpumem_core import state"),
        ("devices.probe", "def f():\n    from gpumem_core.pipeline import decide"),
        ("pipeline", "import gpumem_core.api"),
        ("sizes", "import gpumem"),
    ],
)
def test_the_check_finds_a_wrong_import(module: str, source: str) -> None:
    """An import against the direction is found, at the top of a file or inside of a function."""
    assert [problem for imported in imports(source) if (problem := wrong(module, imported))]
