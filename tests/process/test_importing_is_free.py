"""Importing gpumem does nothing, and configuring starts nothing: each told by a fresh interpreter."""

from __future__ import annotations

from pathlib import Path

from gpumem.testing import fresh_python

PROGRAMS = Path(__file__).parent / "programs"


def test_importing_gpumem_loads_no_machinery() -> None:
    """`import gpumem` loads neither pluggy nor dataclasses nor tomllib, and nothing of gpumem_core."""
    assert fresh_python(PROGRAMS / "what_import_loads.py").json() == []


def test_importing_gpumem_reads_no_configuration_file(tmp_path: Path) -> None:
    """`import gpumem` opens only Python modules, not even a pyproject.toml that lies beside the program."""
    (tmp_path / "pyproject.toml").write_text("[tool.gpumem]\ncap = 'no size'\n", encoding="utf-8")
    (tmp_path / "gpumem.toml").write_text("cap = 'no size'\n", encoding="utf-8")
    opened = fresh_python(PROGRAMS / "what_import_opens.py", cwd=tmp_path).json()
    assert isinstance(opened, list)
    assert [name for name in opened if not name.endswith((".py", ".pyc"))] == []


def test_importing_the_public_modules_loads_no_framework() -> None:
    """`gpumem.plugin` and everything `gpumem` exports import no framework."""
    assert fresh_python(PROGRAMS / "what_exports_load.py").json() == []


def test_configuring_imports_no_framework_and_starts_no_thread() -> None:
    """`configure()` leaves no framework in sys.modules, no thread, no child process, and no CUDA library loaded."""
    result = fresh_python(PROGRAMS / "what_configure_starts.py", environ={"GPUMEM_ASSUME_DEVICES": "2x16GiB"}).json()
    assert result == {"frameworks": [], "threads": 1, "configured": True, "cuda": "not loaded"}


def test_the_search_sees_an_opened_file(tmp_path: Path) -> None:
    """The audit hook of these tests does see files that a program opens after it."""
    (tmp_path / "gpumem.toml").write_text("cap = '4GiB'\n", encoding="utf-8")
    opened = fresh_python(PROGRAMS / "what_import_opens.py", "configure", cwd=tmp_path).json()
    assert isinstance(opened, list)
    assert any(name.endswith("gpumem.toml") for name in opened)
