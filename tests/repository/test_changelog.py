"""Every change that a user notices has a fragment in changelog.d/."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NAME = re.compile(r"(?:[0-9]+|\+[a-z0-9-]+)\.(?P<type>[a-z]+)\.md")


def faults_of(name: str, text: str, types: set[str]) -> list[str]:
    """Return what is wrong with a fragment."""
    match = NAME.fullmatch(name)
    found = []
    if not match or match["type"] not in types:
        found.append(f"{name} is not named NUMBER.TYPE.md or +WORDS.TYPE.md with a type of {', '.join(sorted(types))}")
    body = text.strip()
    if not re.fullmatch(r"[A-Z`][^\n]*(?:\n[^\n]+)*\.", body):
        found.append(f"{name} is not one full sentence: a capital first, a full stop last, no empty line")
    if re.search(r"[.!?] [A-Z]", body):
        found.append(f"{name} has more than one sentence")
    return found


def types_of(project: dict[str, Any]) -> set[str]:
    """Return the types that towncrier knows."""
    return {entry["directory"] for entry in project["tool"]["towncrier"].get("type", [])} or TOWNCRIER_DEFAULT


TOWNCRIER_DEFAULT = {"feature", "bugfix", "doc", "removal", "misc"}


def test_every_fragment_is_a_sentence_of_a_known_type(root: Path, pyproject: Callable[[Path], dict[str, Any]]) -> None:
    """Fragments are named after an issue or a few words, with a type that towncrier knows, and hold one sentence."""
    types = types_of(pyproject(root))
    fragments = [path for path in sorted((root / "changelog.d").iterdir()) if path.suffix == ".md"]
    assert fragments, "there is no fragment"
    faults = [fault for path in fragments for fault in faults_of(path.name, path.read_text(encoding="utf-8"), types)]
    assert faults == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("1.news.md", "A sentence."),
        ("feature.md", "A sentence."),
        ("1.feature.md", "no capital."),
        ("1.feature.md", "No full stop"),
        ("1.feature.md", "One. Two."),
        ("1.feature.md", ""),
    ],
)
def test_the_check_finds_a_wrong_fragment(name: str, text: str) -> None:
    """Unknown types, wrong names and texts that are no sentence are found."""
    assert faults_of(name, text, TOWNCRIER_DEFAULT)
