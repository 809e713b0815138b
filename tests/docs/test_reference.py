"""The reference is complete, and its generated parts are what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gpumem
from gpumem.plugin import hookspecs
from gpumem_core.model.fields import FIELD_SPECS

pytestmark = pytest.mark.simulated  # the mapping needs the plugins; they are there where the frameworks are


def test_the_generated_parts_are_up_to_date(root: Path) -> None:
    """`python docs/generate.py` would change nothing."""
    done = subprocess.run(
        [sys.executable, root / "docs" / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_changed_part_is_found(root: Path, tmp_path: Path) -> None:
    """A generated part that somebody edits by hand is out of date."""
    script = (root / "docs" / "generate.py").read_text(encoding="utf-8")
    (tmp_path / "generate.py").write_text(script, encoding="utf-8")
    (tmp_path / "page.md").write_text("<!-- generated: warnings -->\nby hand\n<!-- end of warnings -->\n", "utf-8")
    done = subprocess.run(
        [sys.executable, tmp_path / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "out of date: page.md\n")


def test_every_error_has_a_page(root: Path) -> None:
    """Each public error class has a page with the program that causes it and its real message."""
    errors = {
        name
        for name in gpumem.__all__
        if isinstance(value := getattr(gpumem, name), type) and issubclass(value, gpumem.GpumemError)
    }
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (root / "docs/reference/errors").glob("*.md")}
    assert set(pages) - {"index"} == errors - {"GpumemError"}
    for name in errors - {"GpumemError"}:
        heads = re.findall(r"^## (.+)$", pages[name], re.MULTILINE)
        assert heads == ["What it says", "Why", "What to do"], name
        assert (
            re.search(r"^\$ python train\.py\n(?:.*\n)*?gpumem\." + name, pages[name], re.MULTILINE)
            or "no program" in pages[name]
        ), name


def test_every_hook_is_documented_with_its_arguments(root: Path) -> None:
    """The page of hooks has each hook with its exact argument list."""
    page = (root / "docs/reference/hooks.md").read_text(encoding="utf-8")
    for name in vars(hookspecs):
        if name.startswith("gpumem_"):
            assert f"## {name}\n" in page


def test_every_field_is_on_the_page_of_the_policy(root: Path) -> None:
    """Every field of a policy has its line."""
    page = (root / "docs/reference/policy.md").read_text(encoding="utf-8")
    assert [name for name in FIELD_SPECS if f"| `{name}` |" not in page] == []
