"""The same programs, with everything built for a sanitizer or run by valgrind: any finding fails.

Each program runs all of its cases in forked children of one process, since the start is what takes long.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sanitizers


def has_threads(source: str) -> bool:
    """Whether a program has threads that could race."""
    return "pthread_create" in source


def is_short(source: str) -> bool:
    """Whether a program is short enough for valgrind, which takes thirty times as long and runs one thread at a time.

    The random ones, and those with thousands of blocks, are left to the sanitizers.
    """
    return "random_" not in source


def test_native_addresses(cases: Any, address_builds: Any, tmp_path: Path) -> None:
    """No use of memory that is not there, no undefined behaviour, no leak."""
    done = address_builds.run_all(cases, tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.programs(wanted=has_threads)
def test_native_races(cases: Any, thread_builds: Any, tmp_path: Path) -> None:
    """No two threads change the same memory without order."""
    done = thread_builds.run_all(cases, tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.programs(wanted=is_short)
def test_native_under_valgrind(cases: Any, valgrind_builds: Any, tmp_path: Path) -> None:
    """No use of memory that nobody wrote, and nothing definitely lost."""
    done = valgrind_builds.run_all(cases, tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
