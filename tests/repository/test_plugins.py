"""What every framework plugin has in common."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Read = Callable[[Path], dict[str, Any]]
PUBLIC = {"gpumem", "gpumem.plugin", "gpumem.testing"}
SECOND_HALF = {"gpumem-tools": "it is the second half of the command line, with the core's own machinery"}
"""Packages under plugins/ that are no plugins for a framework and may use what is not public, each with its reason."""


def classes_below(source: str, base: str) -> list[str]:
    """Return the classes of a source that inherit from `base`."""
    return [
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef) and base in {ast.unparse(item).rpartition(".")[2] for item in node.bases}
    ]


def imported_modules(source: str) -> set[str]:
    """Return the modules that a source imports, wherever the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= (
                {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "gpumem" else {node.module}
            )
    return found


def private(source: str) -> set[str]:
    """Return the modules of gpumem that a source imports although they are not public."""
    found = set()
    for name in imported_modules(source):
        package = name.partition(".")[0]
        if package == "gpumem_core" or (package == "gpumem" and name not in PUBLIC and name.count(".") > 1):
            found.add(name)
    return found


def test_there_are_framework_plugins(framework_plugins: tuple[Path, ...]) -> None:
    """The four frameworks have their plugins; a rule over an empty list would hold by itself."""
    assert {path.name for path in framework_plugins} >= {
        "gpumem-jax",
        "gpumem-tensorflow",
        "gpumem-torch",
        "gpumem-cupy",
    }


def test_every_plugin_runs_the_compliance_kit(framework_plugins: tuple[Path, ...]) -> None:
    """Each plugin's tests have a subclass of PluginContract."""
    for path in framework_plugins:
        tests = [file.read_text(encoding="utf-8") for file in (path / "tests").rglob("test_*.py")]
        assert [name for source in tests for name in classes_below(source, "PluginContract")], path.name


def test_no_plugin_weakens_the_kit(root: Path, framework_plugins: tuple[Path, ...]) -> None:
    """No subclass of PluginContract replaces one of its tests."""
    kit = ast.parse((root / "src/gpumem/testing/contract.py").read_text(encoding="utf-8"))
    promised = {n.name for n in ast.walk(kit) if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")}
    for path in framework_plugins:
        for file in (path / "tests").rglob("test_*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and "PluginContract" in {ast.unparse(base) for base in node.bases}:
                    own = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
                    assert own & promised == set(), file


def test_every_plugin_depends_on_the_core_and_never_on_its_framework(
    framework_plugins: tuple[Path, ...], pyproject: Read
) -> None:
    """The only dependency is gpumem-core; the tested range of the framework stands in an extra."""
    for path in framework_plugins:
        project = pyproject(path)["project"]
        assert [item.partition(">")[0] for item in project["dependencies"]] == ["gpumem-core"], path.name
        assert project["optional-dependencies"]["framework"], path.name


def test_the_entry_point_has_the_name_of_the_framework(framework_plugins: tuple[Path, ...], pyproject: Read) -> None:
    """Entry point, extra and framework have one name, and the hooks stand in plugin.py."""
    for path in framework_plugins:
        framework = path.name.removeprefix("gpumem-")
        points = pyproject(path)["project"]["entry-points"]["gpumem"]
        assert points == {framework: f"gpumem_{framework}.plugin"}


def test_plugins_import_only_what_is_public(plugins: tuple[Path, ...]) -> None:
    """Plugins use gpumem.plugin, and gpumem.testing in their tests; never gpumem_core."""
    found = {
        str(file.relative_to(path.parent)): modules
        for path in plugins
        if path.name not in SECOND_HALF
        for file in path.rglob("*.py")
        if (modules := private(file.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_no_plugin_imports_its_framework_at_module_level(framework_plugins: tuple[Path, ...]) -> None:
    """A plugin is imported where its framework is not."""
    for path in framework_plugins:
        framework = path.name.removeprefix("gpumem-")
        for file in (path / "src").rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            top = ast.Module([n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)], [])
            assert framework not in {name.partition(".")[0] for name in imported_modules(ast.unparse(top))}, file


def test_the_tools_are_the_commands_of_the_core(plugins: tuple[Path, ...], pyproject: Read) -> None:
    """Each command of another package names a function that is there, in the module of the command's name."""
    points = {
        name: (path, value)
        for path in plugins
        for name, value in pyproject(path)["project"].get("entry-points", {}).get("gpumem.commands", {}).items()
    }
    assert {"demo", "prove", "simulate"} <= set(points)
    for name, (path, value) in points.items():
        module, _, function = value.partition(":")
        assert module == f"{path.name.replace('-', '_')}.{name}.command", value
        source = (path / "src" / Path(*module.split("."))).with_suffix(".py").read_text(encoding="utf-8")
        assert function in {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}, value


@pytest.mark.parametrize(
    "source",
    [
        "import gpumem_core",
        "from gpumem_core.model.plan import Plan",
        "from gpumem.testing.contract import PluginContract",
    ],
)
def test_the_check_finds_a_private_import(source: str) -> None:
    """Machinery is found, and so are the modules behind gpumem.testing."""
    assert private(source)


@pytest.mark.parametrize("source", ["import gpumem", "from gpumem.plugin import Plan", "from gpumem import testing"])
def test_the_check_accepts_public_imports(source: str) -> None:
    """What is public is not found."""
    assert private(source) == set()
