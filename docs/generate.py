"""Write the parts of docs/reference/ that are made from the code: python docs/generate.py [--check].

A generated part stands between two comments, ``<!-- generated: NAME -->`` and ``<!-- end of NAME -->``; the rest of a
page is written by hand. A test runs this with ``--check``.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

from gpumem.plugin import Framework, hookspecs
from gpumem_core.declarations.environment import CONTROLS
from gpumem_core.model.fields import FIELD_SPECS, TABLES, Level
from gpumem_core.model.origin import Rank
from gpumem_core.model.read_value import ALLOCATORS
from gpumem_core.model.report import BAD, Row, Status
from gpumem_core.plugins.registry import Registry
from gpumem_core.warnings import CODES

DOCS = Path(__file__).parent
FRAMEWORKS = ("jax", "tensorflow", "torch", "cupy")
_PART = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end of (?P=name) -->)", re.DOTALL)

PLACES: Mapping[Level, str] = {
    "policy": "top",
    "device": "`devices.D`",
    "framework": "`frameworks.F`",
    "framework_device": "`frameworks.F.devices.D`",
}

STATES: Mapping[str, str] = {
    "planned": "Only in `explain()` and in `report()` before `configure()`: what would be set.",
    "pending": "Set or prepared; takes effect at a moment that has not come yet, which `why` names.",
    "in_force": "The framework itself reports what was asked; a limit may be lower, never higher.",
    "differs": "The framework reports something else.",
    "exceeded": "The limit is in force, but the allocator held more than that already when it was set.",
    "late": "The setting came too late and was left out.",
    "failed": "Setting it failed; `why` holds the error.",
    "not_expressed": "The framework has no setting for it; `why` says what to do instead.",
    "unknown": "The framework does not report it, or it cannot be read.",
    "not_applicable": "The framework is not installed, or cannot use a GPU in this process.",
}

RANKS: Mapping[Rank, str] = {
    Rank.ENVIRONMENT: "`GPUMEM_*` variables, and the flags of `gpumem`",
    Rank.ARGUMENTS: "arguments of `gpumem.configure(...)`",
    Rank.NATIVE: "the framework's own settings, made by the user with a variable or through the framework's API",
    Rank.PROJECT_FILE: "`[tool.gpumem]` in `pyproject.toml`, or `gpumem.toml`",
    Rank.SUGGESTION: "`gpumem.prefer(...)`, called by libraries",
    Rank.DEFAULT: "nobody: gpumem's own default",
}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [list(head), *(list(row) for row in rows)]
    cells = ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines]
    return "\n".join([cells[0], "|" + "---|" * len(lines[0]), *cells[1:]])


def fields() -> str:
    """Return the table of policy fields."""
    rows = [
        (
            f"`{name}`",
            spec.meaning + (f" *Not yet: {spec.later}.*" if spec.later else ""),
            spec.accepted,
            _places(spec.levels),
        )
        for name, spec in FIELD_SPECS.items()
    ]
    rows += [
        (f"`{name}`", f"Overrides, one table per {name[:-1]}.", "a table of tables", _places(TABLES[name]))
        for name in TABLES
    ]
    return table(("field", "meaning", "accepted", "may stand at"), rows)


def _places(levels: Iterable[Level]) -> str:
    return ", ".join(PLACES[level] for level in PLACES if level in set(levels))


def frameworks() -> list[Framework]:
    """Return what the plugins of the four frameworks say, in a fixed order.

    Raises:
        SystemExit: when one of them is not installed.
    """
    registry = Registry({})
    missing = [name for name in FRAMEWORKS if name not in registry.plugins]
    if missing:
        sys.exit(f"not installed: {', '.join(f'gpumem-{name}' for name in missing)}; {registry.problems}")
    return [registry.plugins[name].framework for name in FRAMEWORKS]


def mapping() -> str:
    """Return, for each framework, how each field is expressed."""
    parts = []
    for framework in frameworks():
        rows = [
            (f"`{item.field}`", item.native, item.deadline, item.strength, item.scope, item.note)
            for item in framework.fields
        ]
        names = ", ".join(f"`{name}`" for name in (framework.name, *framework.aliases))
        parts.append(
            f"### {framework.title}\n\nIn policies {names}. Its limit counts {_unit(framework)}. "
            f"What no cap covers: {framework.outside_of_caps.rstrip('.')}.\n\n"
            + table(("field", "its own setting", "deadline", "strength", "scope", "note"), rows)
        )
    return "\n\n".join(parts)


def _unit(framework: Framework) -> str:
    return "bytes" if framework.limit_unit == "bytes" else "a fraction of the device's total"


def allocators() -> str:
    """Return the table of allocator words: what each means to each framework, and whether it holds a cap."""
    found = frameworks()
    rows = []
    for word in ALLOCATORS:
        if word == "default":
            rows.append(("`default`", *("the framework's own choice" for _ in found)))
            continue
        cells = []
        for framework in found:
            support = next((item for item in framework.allocators if item.word == word), None)
            if support is None:
                cells.append("-")
                continue
            holds = "holds caps" if support.holds_cap else "**no cap**"
            cells.append(f"{support.native}; {holds}" + (f". {support.note.rstrip('.')}" if support.note else ""))
        rows.append((f"`{word}`", *cells))
    return table(("word", *(framework.title for framework in found)), rows)


def variables() -> str:
    """Return the table of control variables."""
    return table(("variable", "meaning"), [(f"`{name}`", meaning) for name, meaning in CONTROLS.items()])


def native_variables() -> str:
    """Return the variables of the frameworks that the plugins read or write."""
    rows = [(framework.title, ", ".join(f"`{name}`" for name in framework.variables)) for framework in frameworks()]
    return table(("framework", "variables"), rows)


def warning_codes() -> str:
    """Return the table of warning codes."""
    return table(("code", "meaning"), [(f"`{code}`", meaning) for code, meaning in CODES.items()])


def row_fields() -> str:
    """Return the table of the fields of a report's row, from its docstring."""
    text = inspect.getdoc(Row) or ""
    described = re.findall(r"^    (\w+): (.+)$", text[text.index("Attributes:") :], re.MULTILINE)
    return table(("field", "meaning"), [(f"`{name}`", meaning) for name, meaning in described])


def states() -> str:
    """Return the table of states, one per value of `Status`."""
    names: tuple[str, ...] = Status.__args__  # type: ignore[attr-defined]  # a Literal has its values there
    assert set(names) == set(STATES), set(names) ^ set(STATES)
    return table(
        ("state", "meaning", "`ok`"),
        [(f"`{name}`", meaning, "false" if name in BAD else "true") for name, meaning in STATES.items()],
    )


def ranks() -> str:
    """Return the sources in the order of their strength."""
    assert set(RANKS) == set(Rank)
    return "\n".join(f"{number}. {text}" for number, (_rank, text) in enumerate(sorted(RANKS.items()), 1))


def support(part: str) -> str:
    """Return one of the tables of what holds, from the results of the matrix."""
    # Loaded where a page has such a table: the script alone makes all the others.
    return str(getattr(import_module("support_table"), part)(table))


def hooks() -> str:
    """Return every hook with its signature and its docstring."""
    parts = []
    for name, function in vars(hookspecs).items():
        if name.startswith("gpumem_") and inspect.isfunction(function):
            signature = _signature(function)
            parts.append(f"## {name}\n\n```text\n{signature}\n```\n\n{_as_markdown(inspect.getdoc(function) or '')}")
    return "\n\n".join(parts)


def _signature(function: Callable[..., object]) -> str:
    signature = inspect.signature(function)
    arguments = ", ".join(f"{name}: {item.annotation}" for name, item in signature.parameters.items())
    return f"{function.__name__}({arguments}) -> {signature.return_annotation}"


def _as_markdown(docstring: str) -> str:
    """Return a docstring with its sections as Markdown: bold heads, lists, and doctests as Python blocks."""
    lines: list[str] = []
    in_code = in_items = False
    for line in docstring.replace("``", "`").splitlines():
        stripped = line.strip()
        if stripped in {"Args:", "Returns:", "Raises:", "Example:"}:
            in_items = stripped in {"Args:", "Raises:"}
            lines += [f"**{stripped}**", ""]
        elif stripped.startswith((">>>", "...")):
            lines += [] if in_code else ["```python"]
            in_code = True
            if stripped.startswith(">>> @"):
                lines += ["", ""]  # as the formatter wants it, which a doctest cannot have
            lines.append(stripped[4:])
        elif in_items and re.match(r"    \w+: ", line):
            lines.append(re.sub(r"^    (\w+): ", r"- `\1`: ", line))
        else:
            lines.append(("  " if in_items and stripped else "") + stripped)
    return "\n".join([*lines, "```"] if in_code else lines)


PARTS: Mapping[str, Callable[[], str]] = {
    "fields": fields,
    "mapping": mapping,
    "allocators": allocators,
    "variables": variables,
    "native-variables": native_variables,
    "warnings": warning_codes,
    "row-fields": row_fields,
    "states": states,
    "ranks": ranks,
    "hooks": hooks,
    "support": partial(support, "promises"),
    "support-first": partial(support, "first_requests"),
    "support-moments": partial(support, "moments"),
    "support-sources": partial(support, "sources"),
    "support-together": partial(support, "together"),
    "support-oldest": partial(support, "oldest"),
}


def generated(text: str) -> str:
    """Return a page with its generated parts made anew."""
    return _PART.sub(lambda match: f"{match[1]}\n{PARTS[match['name']]()}\n\n{match[3]}", text)


def main(arguments: list[str]) -> int:
    """Write the pages; with ``--check`` only say which would change. Return the exit code."""
    changed = []
    for page in sorted(DOCS.rglob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = generated(before)
        if after != before:
            changed.append(str(page.relative_to(DOCS)))
            if arguments != ["--check"]:
                page.write_text(after, encoding="utf-8")
    for name in changed:
        sys.stdout.write(f"{'out of date' if arguments == ['--check'] else 'written'}: {name}\n")
    return 1 if changed and arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
