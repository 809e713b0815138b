"""The finder tells once, leaves no trace, and never makes an import fail."""

import importlib
import sys

import pytest

from gpumem_core.applying.import_watch import ImportWatch, fully_imported


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that can be imported, and is forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "potoroo.py").write_text("value = 1\n")
    yield "potoroo"
    sys.modules.pop("potoroo", None)


@pytest.fixture
def told():
    return []


@pytest.fixture
def watch(told):
    watch = ImportWatch(lambda name, module: told.append((name, module.value)))
    yield watch
    watch.remove()


def test_it_tells_once_and_takes_itself_away(module, watch, told):
    watch.add(module)
    assert watch in sys.meta_path
    importlib.import_module(module)
    assert told == [(module, 1)]
    assert watch not in sys.meta_path
    importlib.reload(sys.modules[module])
    assert told == [(module, 1)]


def test_the_module_keeps_its_own_loader(module, watch):
    watch.add(module)
    loaded = importlib.import_module(module)
    assert type(loaded.__loader__).__name__ == type(loaded.__spec__.loader).__name__ == "SourceFileLoader"


def test_looking_for_a_module_is_no_import(module, watch, told):
    watch.add(module)
    assert importlib.util.find_spec(module) is not None
    assert told == []
    importlib.import_module(module)
    assert told == [(module, 1)]


def test_other_names_are_left_to_the_other_finders(watch, told):
    watch.add("potoroo")
    assert watch.find_spec("json") is None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_potoroo")
    assert told == []


def test_a_module_that_is_not_there_stays_missing(watch, told):
    watch.add("potoroo")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("potoroo")
    assert told == []
    assert watch in sys.meta_path


def test_it_may_stop_before_anything_happens(module, watch, told):
    watch.add(module)
    watch.remove()
    importlib.import_module(module)
    assert told == []


def test_finders_of_others_may_be_of_the_oldest_kind(module, watch, told, monkeypatch):
    class Old:
        """A finder without find_spec."""

    monkeypatch.setattr(sys, "meta_path", [Old(), *sys.meta_path])
    watch.add(module)
    importlib.import_module(module)
    assert told == [(module, 1)]


def test_a_blocked_module_counts_as_not_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "potoroo", None)
    assert fully_imported("potoroo") is None
