"""The core, its tools and the simulated device know no framework by name: all about one stands in its plugin."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

NAMES = re.compile(r"\b(jax|tensorflow|torch|cupy)\b|XLA_|\bTF_|PYTORCH_|CUPY_", re.IGNORECASE)
MAX_LINES = 6000
IGNORANT = ("src", "plugins/gpumem-tools/src", "plugins/gpumem-simgpu/src/gpumem_simgpu/native")
"""The folders in which no framework is named: what is written there serves any of them."""


@pytest.mark.parametrize("folder", IGNORANT)
def test_no_file_of_the_core_names_a_framework(root: Path, tracked: tuple[Path, ...], folder: str) -> None:
    """Neither a framework's name nor the prefix of one of its variables stands anywhere in the folder."""
    # A page may cite a framework's source for what it says of the driver.
    files = [path for path in tracked if path.is_relative_to(root / folder) and path.suffix != ".md"]
    assert files, "no such folder"
    found = [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if NAMES.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("text", ["import jax", "the Torch plugin", 'environ["TF_X"]', "XLA_FLAGS", "cupy's pool"])
def test_the_search_finds_what_it_looks_for(text: str) -> None:
    """The pattern matches names and prefixes in any case."""
    assert NAMES.search(text)


@pytest.mark.parametrize("text", ["torchlight", "nvtf_x", "a PDF_"])
def test_the_search_leaves_other_words_alone(text: str) -> None:
    """The pattern matches whole names only."""
    assert not NAMES.search(text)


def code_lines(source: str) -> int:
    """Return the number of lines that hold code: neither blank nor comment nor docstring."""
    ignored = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {line for token in tokens if token.type not in ignored for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def test_the_core_stays_small(root: Path) -> None:
    """The core has at most 6,000 lines of code; docstrings are the reference and are not counted."""
    sources = (path.read_text(encoding="utf-8") for path in (root / "src").rglob("*.py"))
    assert sum(code_lines(source) for source in sources) <= MAX_LINES


def test_docstrings_comments_and_blank_lines_are_no_code() -> None:
    """A line counts once, whatever stands on it, and only if something runs."""
    assert code_lines('"""A\n\ndocstring."""\n\n# a comment\nx = (1,\n     2)\n') == 2
