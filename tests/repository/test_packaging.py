"""What the pyproject files promise to pip."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

Read = Callable[[Path], dict[str, Any]]


def requirements(project: dict[str, Any]) -> list[str]:
    """Return every requirement of a project, those of its extras included."""
    extras = project.get("optional-dependencies", {}).values()
    return [*project.get("dependencies", []), *(item for extra in extras for item in extra)]


def name_of(requirement: str) -> str:
    """Return the distribution's name in a requirement, as pip compares it."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def test_there_is_one_version(root: Path, plugins: tuple[Path, ...], pyproject: Read) -> None:
    """Every package has the same static version."""
    versions = {path.name: pyproject(path)["project"]["version"] for path in (root, *plugins)}
    assert len(set(versions.values())) == 1, versions


def test_every_package_supports_the_same_pythons(root: Path, plugins: tuple[Path, ...], pyproject: Read) -> None:
    """Python 3.11 to 3.13 everywhere, in the range and in the classifiers."""
    for path in (root, *plugins):
        project = pyproject(path)["project"]
        named = [c.rpartition(" ")[2] for c in project["classifiers"] if re.search(r"Python :: 3\.[0-9]+$", c)]
        assert (project["requires-python"], named) == (">=3.11,<3.14", ["3.11", "3.12", "3.13"]), path.name


def test_no_dependency_is_a_direct_reference(root: Path, plugins: tuple[Path, ...], pyproject: Read) -> None:
    """Nothing is installed from an address: such a package could not be published."""
    for path in (root, *plugins):
        assert [item for item in requirements(pyproject(path)["project"]) if " @ " in item or "://" in item] == []


def test_nothing_depends_on_the_foreign_distribution(root: Path, plugins: tuple[Path, ...], pyproject: Read) -> None:
    """The name `gpumem` on PyPI belongs to an unrelated tool; ours are gpumem-core and the plugins."""
    for path in (root, *plugins):
        project = pyproject(path)["project"]
        assert "gpumem" not in {name_of(item) for item in requirements(project)}, path.name
        assert project["name"] != "gpumem"


def test_siblings_depend_on_each_other_by_range(root: Path, plugins: tuple[Path, ...], pyproject: Read) -> None:
    """A sibling is required from a version on and below 1, never in exactly one version."""
    for path in (root, *plugins):
        for item in requirements(pyproject(path)["project"]):
            if name_of(item).startswith("gpumem-") and "[" not in item:
                assert re.fullmatch(r"gpumem-[a-z]+>=0\.[0-9]+(\.[0-9]+)?,<1", item), (path.name, item)


def test_the_folder_names_the_distribution(plugins: tuple[Path, ...], pyproject: Read) -> None:
    """A package is found under its name, and its module under the same name with an underscore."""
    for path in plugins:
        assert pyproject(path)["project"]["name"] == path.name
        module = path / "src" / path.name.replace("-", "_")
        assert {file.name for file in module.iterdir()} >= {"__init__.py", "py.typed"}, path.name


def test_every_package_carries_the_licence(root: Path, plugins: tuple[Path, ...]) -> None:
    """Each package has the licence's text and a README of its own."""
    text = (root / "LICENSE").read_text(encoding="utf-8")
    for path in plugins:
        assert (path / "LICENSE").read_text(encoding="utf-8") == text
        assert len((path / "README.md").read_text(encoding="utf-8").splitlines()) > 3, f"{path.name} has no README"


def test_the_extras_bring_the_plugins(root: Path, framework_plugins: tuple[Path, ...], pyproject: Read) -> None:
    """Each framework plugin is an extra of gpumem-core under the framework's name, and `all` brings them all."""
    extras = pyproject(root)["project"]["optional-dependencies"]
    for path in framework_plugins:
        framework = path.name.removeprefix("gpumem-")
        assert [name_of(item) for item in extras[framework]] == [path.name]
        assert any(framework in re.split(r"[\[\],]", item) for item in extras["all"]), framework


def test_the_checkout_installs_every_package(root: Path, plugins: tuple[Path, ...]) -> None:
    """requirements-dev.txt lists the core and every plugin, editable, and nothing else."""
    lines = (root / "requirements-dev.txt").read_text(encoding="utf-8").splitlines()
    listed = [line for line in lines if line and not line.startswith("#")]
    assert sorted(listed) == sorted(["-e .", *(f"-e ./plugins/{path.name}" for path in plugins)])


def test_the_readme_has_the_tested_ranges(root: Path, framework_plugins: tuple[Path, ...], pyproject: Read) -> None:
    """The README's table shows each plugin's tested range as its extra `framework` has it."""
    table = (root / "README.md").read_text(encoding="utf-8")
    for path in framework_plugins:
        (tested,) = pyproject(path)["project"]["optional-dependencies"]["framework"]
        assert f"| `{tested}` |" in table, path.name


def test_the_oldest_list_holds_the_lower_bounds(
    root: Path, framework_plugins: tuple[Path, ...], pyproject: Read
) -> None:
    """The lower bound of each tested range is what the oldest environment installs, and both lists are in the range."""
    for path in framework_plugins:
        requirement = Requirement(pyproject(path)["project"]["optional-dependencies"]["framework"][0])
        (lower,) = [item.version for item in requirement.specifier if item.operator == ">="]
        oldest, newest = (
            locked(root / "locks" / f"{name}-py312.txt")[requirement.name] for name in ("oldest", "newest")
        )
        assert Version(oldest).release[: len(Version(lower).release)] == Version(lower).release, path.name
        assert requirement.specifier.contains(oldest), path.name
        assert requirement.specifier.contains(newest), path.name


def locked(file: Path) -> dict[str, str]:
    """Return the versions of a list by name."""
    lines = (line.partition("==") for line in file.read_text(encoding="utf-8").splitlines() if "==" in line)
    return {name_of(name): version for name, _, version in lines}


def test_the_lists_agree_with_each_other(root: Path) -> None:
    """A distribution that stands in two lists that are installed together has one version there."""
    for name in ("newest", "oldest"):
        together = [locked(root / "locks" / file) for file in (f"{name}-py312.txt", "tools.txt", "dev.txt")]
        for item in {item for versions in together for item in versions}:
            assert len({versions[item] for versions in together if item in versions}) == 1, (name, item)
