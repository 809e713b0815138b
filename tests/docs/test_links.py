"""Every link inside of the repository leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def broken(page: Path) -> list[str]:
    """Return the relative links of a page that lead nowhere, with the anchors that are not there."""
    found = []
    for match in _LINK.finditer(_CODE.sub("", page.read_text(encoding="utf-8"))):
        target, _, anchor = match["target"].partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (page.parent / target) if target else page
        wrong_anchor = anchor and file.suffix == ".md" and file.is_file() and anchor not in anchors(file)
        if not file.exists() or wrong_anchor:
            found.append(match["target"])
    return found


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes from the headings of a page."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_links_resolve(page: Path) -> None:
    """Relative links name files that exist, and their anchors headings."""
    assert broken(page) == []


def test_every_page_is_reached_from_the_index(root: Path) -> None:
    """docs/index.md leads to every page, by one link or several."""
    reached, waiting = set(), [root / "docs" / "index.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached or not page.is_file() or page.suffix != ".md":
            continue
        reached.add(page)
        targets = (match["target"].partition("#")[0] for match in _LINK.finditer(page.read_text(encoding="utf-8")))
        waiting += [page.parent / target for target in targets if target and "://" not in target]
    assert {path.resolve() for path in (root / "docs").rglob("*.md")} - reached == set()


@pytest.mark.parametrize("link", ["[x](nowhere.md)", "[x](#nowhere)"])
def test_a_broken_link_is_found(tmp_path: Path, link: str) -> None:
    """A file or a heading that is not there is found."""
    page = tmp_path / "page.md"
    page.write_text(f"# Somewhere\n\n{link}\n", encoding="utf-8")
    assert broken(page)
