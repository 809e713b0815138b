"""The support table: what each promise comes to, from the results of the matrix in docs/reference/support-*.json.

`pytest tests/simulated/matrix` makes the results; `docs/generate.py` writes the tables into docs/reference/support.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "reference"
FRAMEWORKS = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch", "cupy": "CuPy"}
MIB = 1 << 20

PROMISES = {
    "cap": "`cap`",
    "cap of an odd number of bytes": "`cap` of an odd number of bytes",
    "fraction": "`fraction`",
    "fraction of no whole blocks": "`fraction` that gives no whole blocks",
    "cap and growth": "`cap` and `growth`",
    "growth": "`growth` alone",
    "preallocate, with a cap": "`preallocate`, with a `cap`",
    "fraction and preallocate": "`preallocate`, with a `fraction`",
    "preallocate=a size, with a cap": "`preallocate` of a size, with a `cap`",
    "allocator=default, with a cap": '`allocator="default"`, with a `cap`',
    "allocator=pool, with a cap": '`allocator="pool"`, with a `cap`',
    "allocator=async, with a cap": '`allocator="async"`, with a `cap`',
    "allocator=direct, with a cap": '`allocator="direct"`, with a `cap`',
    "allocator=vmm, with a cap": '`allocator="vmm"`, with a `cap`',
    "allocator=managed, with a cap": '`allocator="managed"`, with a `cap`',
    "hidden": "hidden",
    "cap, on unequal devices": "`cap`, on cards of 8 and 16 GiB",
    "fraction, on unequal devices": "`fraction`, on cards of 8 and 16 GiB",
}
"""The rows, with their text for people."""

THREE = ("cap and growth", "fraction and preallocate", "allocator=async, with a cap")
MOMENTS = {
    "imported": "after the import",
    "discovered": "after it has looked for GPUs",
    "started": "after its first allocation",
}
SOURCES = {
    "variables": "`GPUMEM_*` variables",
    "pyproject": "`pyproject.toml`",
    "prefer": "`prefer()`, by a library",
    "own variables": "`configure()`, against the user's own variables",
    "device override": "`configure(devices=...)`, against a looser cap for all",
}
MISSING = {"allocator": "the word", "preallocate": "the size", "visible": "hiding", "limit": "the limit"}

Result = Mapping[str, Any]


def read(name: str) -> Mapping[str, Any]:
    """Return the committed results of the ``newest`` or the ``oldest`` versions."""
    return dict(json.loads((RESULTS / f"support-{name}.json").read_text(encoding="utf-8")))


class Notes:
    """Footnotes: each text once, numbered in the order of its first use."""

    def __init__(self) -> None:
        """Have none."""
        self._numbers: dict[str, int] = {}

    def mark(self, text: str) -> str:
        """Return the mark of a note; nothing for an empty text."""
        return f" [{self._numbers.setdefault(text, len(self._numbers) + 1)}]" if text else ""

    def __str__(self) -> str:
        """Return the notes as a Markdown list."""
        return "\n".join(f"{number}. {text[0].upper()}{text[1:]}." for text, number in self._numbers.items())


def size(amount: int) -> str:
    """Return bytes for people."""
    if amount % (1 << 30) == 0:
        return f"{amount >> 30} GiB"
    return f"{amount // MIB} MiB" if amount % MIB == 0 else f"{amount / MIB:.1f} MiB"


def find(data: Mapping[str, Any], promise: str, moment: str, source: str, framework: str) -> Result:
    """Return the result of one cell of one framework."""
    return dict(data["cells"][f"{promise}/{moment}/{source}/{framework}"][framework])


def verdict(result: Result, framework: str, notes: Notes) -> str:
    """Return what a cell shows, in a few words."""
    title = FRAMEWORKS[framework]
    said = "" if result["state"] == "late" else result["said"].rstrip(".")
    said = notes.mark(said if title in said else f"{title}: {said}") if said else ""
    if result["state"] == "refused":
        return f"refused: said so{said}"
    if result["state"] == "late":
        late = "the word is too late" if result["missing"] == ["allocator"] else "too late"
        return f"{late}: an error"
    if result["state"] == "less":
        return f"holds, with less on a card: said so{said}"
    if result["state"] == "told":
        (field,) = result["missing"]
        return f"the cap holds, {MISSING[field]} does not: said so{said}"
    return f"holds{_off(result)}"


def _off(result: Result) -> str:
    """Return by how much the most that was held is off the limit."""
    off = [limit - peak for limit, peak in zip(result["limits"], result["peak"], strict=True) if limit]
    if off and min(off) < 0:
        return f", rounded up by less than {-(min(off) // (2 * MIB)) * 2} MiB"
    return f", up to {-(-max(off) // MIB)} MiB less" if off and max(off) > 0 else ""


def promises(table: Callable[[Iterable[str], Iterable[Iterable[str]]], str]) -> str:
    """Return the table of promises, declared before the import, with its notes and versions."""
    data, notes = read("newest"), Notes()
    rows = [
        (text, *(verdict(find(data, promise, "before", "arguments", one), one, notes) for one in FRAMEWORKS))
        for promise, text in PROMISES.items()
    ]
    versions = ", ".join(f"{title} {data['versions'][one]}" for one, title in FRAMEWORKS.items())
    return f"With {versions}, and gpumem {', '.join(data['gpumem'])}:\n\n{_head(table, 'promise', rows)}\n\n{notes}"


def _head(table: Callable[..., str], first: str, rows: Iterable[Iterable[str]]) -> str:
    return table((first, *FRAMEWORKS.values()), rows)


def first_requests(table: Callable[..., str]) -> str:
    """Return the table of what each framework asks the driver for at its first touch of 1 MiB."""
    data = read("newest")
    rows = []
    for promise in ("cap", "cap and growth", "growth", "preallocate, with a cap", "preallocate=a size, with a cap"):
        found = [find(data, promise, "before", "arguments", one)["first"][0] for one in FRAMEWORKS]
        rows.append((PROMISES[promise], *map(size, found)))
    return _head(table, "policy", rows)


def moments(table: Callable[..., str]) -> str:
    """Return the table of the three policies at later moments."""
    data, notes = read("newest"), Notes()
    rows = []
    for promise in THREE:
        for moment, when in MOMENTS.items():
            found = (verdict(find(data, promise, moment, "arguments", one), one, notes) for one in FRAMEWORKS)
            rows.append((f"{PROMISES[promise]}, {when}", *found))
    return f"{_head(table, 'policy', rows)}\n\n{notes}"


def sources(table: Callable[..., str]) -> str:
    """Return the table of sources: whether the three policies come to the same as by arguments of configure()."""
    data = read("newest")
    rows = [(text, *(_as_by_arguments(data, source, one) for one in FRAMEWORKS)) for source, text in SOURCES.items()]
    return _head(table, "source", rows)


def _as_by_arguments(data: Mapping[str, Any], source: str, framework: str) -> str:
    for promise in THREE:
        one, other = (find(data, promise, "before", by, framework) for by in (source, "arguments"))
        if [one[key] for key in ("state", "missing", "peak")] != [other[key] for key in ("state", "missing", "peak")]:
            return f"differs: {promise} is {one['state']}"
    return "the same"


def together(table: Callable[..., str]) -> str:
    """Return the table of several frameworks in one process under one cap of 2 GiB each, on one card of 16 GiB."""
    rows = []
    for name, cell in read("newest")["cells"].items():
        promise, moment, source, names = name.split("/")
        order = names.split("+")
        if len(order) == 1 or (promise, moment, source) != ("cap and growth", "before", "arguments"):
            continue
        held = (f"{FRAMEWORKS[one]} {size(cell[one]['peak'][0])}" for one in order)
        rows.append((len(order), ", ".join(FRAMEWORKS[one] for one in order), ", ".join(held)))
    return table(("imported in this order", "the most that each held"), [row[1:] for row in sorted(rows)])


def oldest(table: Callable[..., str]) -> str:
    """Return where the oldest supported versions differ from the newest."""
    old, new, notes = read("oldest"), read("newest"), Notes()
    rows = []
    for promise, text in PROMISES.items():
        for one, title in FRAMEWORKS.items():
            now, then = (find(data, promise, "before", "arguments", one) for data in (new, old))
            if (now["state"], now["missing"]) != (then["state"], then["missing"]):
                rows.append((text, f"{title} {old['versions'][one]}", verdict(then, one, notes)))
    versions = ", ".join(f"{title} {old['versions'][one]}" for one, title in FRAMEWORKS.items())
    if not rows:
        return f"With {versions} every cell is the same."
    differing = table(("promise", "version", "is"), rows)
    return f"With {versions} the same cells come to the same, but for:\n\n{differing}\n\n{notes}"
