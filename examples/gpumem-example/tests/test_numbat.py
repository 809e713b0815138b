"""The plugin with numbat itself, each program in a fresh interpreter."""

from __future__ import annotations

import pytest

from gpumem.testing import FreshRun, fresh_python

BEGIN = "import json, gpumem\n"
ALLOCATE = """
import numbat
numbat.allocate(1 << 20)
"""
PRINT = """
row = gpumem.report().rows_of("numbat", "cap")[0]
print(json.dumps([row.state, row.in_force, numbat.pool().limit, numbat.pool().held]))
"""
GIB = 1 << 30


def run(program: str, **environ: str) -> FreshRun:
    """Run a program on two assumed devices."""
    return fresh_python(program, environ={"GPUMEM_ASSUME_DEVICES": "2x16GiB", **environ})


@pytest.mark.parametrize("order", ["before the import", "after the import"])
def test_a_cap_is_in_force(order: str) -> None:
    """Configured before numbat is imported or after, the pool has the cap."""
    configure = 'gpumem.configure(cap="1GiB", growth=True)'
    program = configure + ALLOCATE if order == "before the import" else "import numbat\n" + configure + ALLOCATE
    assert run(BEGIN + program + PRINT).json() == ["in_force", GIB, GIB, 1 << 20]


def test_a_fraction_is_taken_ahead() -> None:
    """A fraction becomes bytes of the device's total, and preallocation takes them at the first allocation."""
    program = "gpumem.configure(fraction=0.25, preallocate=True)" + ALLOCATE
    result = run(BEGIN + program + PRINT.replace('"cap"', '"fraction"')).json()
    assert result == ["in_force", 4 * GIB, 4 * GIB, 4 * GIB]


def test_too_late_is_an_error() -> None:
    """After the first allocation another cap is refused, and the message says who was first and what is in force."""
    done = run(BEGIN + ALLOCATE + 'gpumem.configure(cap="1GiB")')
    assert done.returncode == 1
    assert "LateInitialisationError" in done.stderr
    assert "numbat" in done.stderr


def test_the_users_own_variable_is_kept() -> None:
    """A limit that the user set in numbat's own way beats files, and is verified."""
    assert run(BEGIN + "gpumem.configure(growth=True)" + ALLOCATE + PRINT, NUMBAT_LIMIT=str(2 * GIB)).json() == [
        "in_force",
        2 * GIB,
        2 * GIB,
        1 << 20,
    ]
