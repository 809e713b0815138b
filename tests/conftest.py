"""Guards for every test: the environment, the import system and gpumem's own state are left as they were found."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# The invented frameworks and their plugins, importable here and by the programs that run in fresh interpreters.
INVENTED = Path(__file__).parent / "invented"
sys.path.insert(0, str(INVENTED))

settings.register_profile("gpumem", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("gpumem")

# pytest itself writes this variable during a test.
PYTESTS_OWN = "PYTEST_CURRENT_TEST"


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != PYTESTS_OWN}


@pytest.fixture(autouse=True)
def environment_is_left_as_found() -> Iterator[None]:
    """Fail a test that leaves a variable behind, or takes one away."""
    before = _environment()
    yield
    after = _environment()
    for name in after.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)
    assert after == before, "the test changed the environment"


@pytest.fixture(autouse=True)
def import_system_is_left_as_found() -> Iterator[None]:
    """Fail a test that leaves a finder behind."""
    before = list(sys.meta_path)
    yield
    after = list(sys.meta_path)
    sys.meta_path[:] = before
    assert after == before, "the test changed sys.meta_path"


@pytest.fixture(autouse=True)
def gpumem_is_left_as_found() -> Iterator[None]:
    """Fail a test that leaves a policy, a plugin or a suggestion behind."""
    yield
    state = sys.modules.get("gpumem_core.state")
    suggestions = sys.modules.get("gpumem_core.suggestions")
    left = []
    if state is not None and state.current() != state.ProcessState():
        left.append(f"gpumem's state: {state.current()}")
        ledger = state.current().ledger
        if ledger is not None:
            ledger.close()
            ledger.journal.restore()
        state.forget()
    if suggestions is not None and suggestions.suggestions():
        left.append(f"suggestions: {suggestions.suggestions()}")
        suggestions.forget()
    assert not left, left
