"""The same programs, with everything built for a sanitizer or run by valgrind: any finding fails.

Each program runs all of its cases in forked children of one process, since the start is what takes long.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.sanitizers


# Valgrind takes thirty times as long and runs one thread at a time, so it sees the programs in which memory lives
# and dies in all its ways; the random ones, and those with thousands of blocks, are left to the sanitizers.
FOR_VALGRIND = {
    *("contexts", "contexts_asked", "copies", "host_memory", "nvml", "out_of_memory"),
    *("pools", "pools_of_programs", "streams", "virtual_memory", "virtual_refusals"),
}


def has_threads(source: Path) -> bool:
    """Whether a program has threads that could race."""
    return "pthread_create" in source.read_text()


def is_for_valgrind(source: Path) -> bool:
    """Whether valgrind runs a program."""
    return source.stem in FOR_VALGRIND


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


@pytest.mark.programs(wanted=is_for_valgrind)
def test_native_under_valgrind(cases: Any, valgrind_builds: Any, tmp_path: Path) -> None:
    """No use of memory that nobody wrote, and nothing definitely lost."""
    done = valgrind_builds.run_all(cases, tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
