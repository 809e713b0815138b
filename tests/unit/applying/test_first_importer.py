"""Who imported a framework first, where the main program says nothing: the modules behind it are read."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from gpumem_core.applying import first_importer
from gpumem_core.applying.first_importer import first_importer as who_imported

CIRCLE = "import json\nimport {next}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules; the framework is there already, and the main program has no source."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    monkeypatch.setitem(sys.modules, "wombat", ModuleType("wombat"))
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_the_importer_behind_the_framework_is_found(folder: Path) -> None:
    """Of two modules that led to the import, the one that holds it is named with its line."""
    (folder / "koala.py").write_text("import platypus\n", encoding="utf-8")
    (folder / "platypus.py").write_text("import json\nimport wombat\n", encoding="utf-8")
    importlib.import_module("koala")
    assert who_imported("wombat") == "it was first imported by platypus.py:2 (inferred)"


def test_each_source_is_read_once_and_none_of_the_standard_library(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody imported the framework, an error message does not read the same files again and again."""
    names = [f"platypus_{number}" for number in range(12)]
    for name, following in zip(names, [*names[1:], names[0]], strict=True):
        (folder / f"{name}.py").write_text(CIRCLE.format(next=following), encoding="utf-8")
    for name in names:
        importlib.import_module(name)
    read: Counter[str] = Counter()
    original = first_importer._imports

    def counted(path: Path, package: str) -> Iterator[tuple[int, str]]:
        read[path.name] += 1
        return original(path, package)

    monkeypatch.setattr(first_importer, "_imports", counted)
    assert who_imported("wombat") == ""
    assert read == {f"{name}.py": 1 for name in names}
