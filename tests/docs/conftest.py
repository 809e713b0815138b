"""The pages of the documentation, taken apart into blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATTERNS = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "plugins/*/README.md", "examples/**/*.md")
PATTERNS = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "plugins/*/README.md", "examples/**/*.md")
PAGES = sorted(page for pattern in PATTERNS for page in ROOT.glob(pattern))
_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```\n?", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"# (?P<name>[\w.-]+\.(?:py|toml|sh))(?: .*)?")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: the first word after the fence.
        marks: the other words.
        body: what stands inside.
        line: the line of the fence.
    """

    language: str
    marks: tuple[str, ...]
    body: str
    line: int

    @property
    def name(self) -> str:
        """The file name in a first line such as ``# train.py``, empty without one."""
        match = _NAME.fullmatch(self.body.partition("\n")[0])
        return match["name"] if match else ""


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in order."""
    for match in _FENCE.finditer(text):
        language, *marks = match["info"].split() or [""]
        yield Block(language, tuple(marks), match["body"], text.count("\n", 0, match.start()) + 1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `page` every page."""
    if "page" in metafunc.fixturenames:
        metafunc.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())


@pytest.fixture
def blocks(page: Path) -> tuple[Block, ...]:
    """The blocks of the page."""
    return tuple(blocks_of(page.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def blocks_of_page() -> Callable[[Path], tuple[Block, ...]]:
    """Read the blocks of a page that a test names itself."""
    return lambda page: tuple(blocks_of(page.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return ROOT
