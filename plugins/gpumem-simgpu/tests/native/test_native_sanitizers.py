"""The same programs, with everything built for a sanitizer or run by valgrind: any finding fails.

Each program runs all of its cases in forked children of one process, since the start is what takes long.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sanitizers

# The programs in which threads meet.
WITH_THREADS = {"contexts", "fork", "nvml", "runtime", "threads"}


def test_native_addresses(cases: Any, address_builds: Any, tmp_path: Path) -> None:
    """No use of memory that is not there, no undefined behaviour, no leak."""
    done = address_builds.run_all(cases, tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_native_races(cases: Any, thread_builds: Any, tmp_path: Path) -> None:
    """No two threads change the same memory without order."""
    done = thread_builds.run_all(cases, tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_native_under_valgrind(cases: Any, valgrind_builds: Any, tmp_path: Path) -> None:
    """No use of memory that nobody wrote, and nothing definitely lost."""
    done = valgrind_builds.run_all(cases, tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
