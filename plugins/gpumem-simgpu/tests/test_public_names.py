"""What ``import gpumem_simgpu`` offers."""

from __future__ import annotations

import subprocess
import sys

import gpumem_simgpu

USE_ALL = """
import gpumem_simgpu
names = [name for _ in range(2) for name in gpumem_simgpu.__all__ if getattr(gpumem_simgpu, name)]
import pkgutil
assert not {one.name for one in pkgutil.iter_modules(gpumem_simgpu.__path__)} & set(names), "hidden by a module"
gpumem_simgpu.prepare, gpumem_simgpu.profiles()
"""


def test_every_public_name_is_there_and_none_is_a_module() -> None:
    """Names are loaded when they are used; a module of the same name would take their place."""
    subprocess.run([sys.executable, "-c", USE_ALL], check=True)


def test_every_public_name_is_explained() -> None:
    """Each has a docstring of its own."""
    assert [name for name in gpumem_simgpu.__all__ if not getattr(gpumem_simgpu, name).__doc__] == []
