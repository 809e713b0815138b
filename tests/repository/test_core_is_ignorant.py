"""The core knows no framework by name: everything about one stands in its plugin."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

NAMES = re.compile(r"\b(jax|tensorflow|torch|cupy)\b|XLA_|\bTF_|PYTORCH_|CUPY_", re.IGNORECASE)
MAX_LINES = 6000


def test_no_file_of_the_core_names_a_framework(root: Path, tracked: tuple[Path, ...]) -> None:
    """Neither a framework's name nor the prefix of one of its variables stands anywhere under src/."""
    found = [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in tracked
        if path.is_relative_to(root / "src")
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


def test_the_core_stays_small(root: Path, tracked: tuple[Path, ...]) -> None:
    """The core has at most 6,000 lines."""
    files = [path for path in tracked if path.is_relative_to(root / "src") and path.suffix == ".py"]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= MAX_LINES
