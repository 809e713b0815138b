"""The policy in ``[tool.gpumem]`` of a pyproject.toml, or in a gpumem.toml, with its profiles."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gpumem_core.declarations.find_file import candidates, starts
from gpumem_core.declarations.lay_over import without_replaced
from gpumem_core.model.declaration import Declared
from gpumem_core.model.fault import Fault
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.read_table import read_table
from gpumem_core.model.read_value import nearest

_BOM: Final = b"\xef\xbb\xbf"


class FileProblem(Exception):
    """A configuration file cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class _Table:
    """The table of one file: what it holds and the dotted name of the table, empty in a gpumem.toml."""

    path: Path
    content: Mapping[str, object]
    name: str

    def origin(self, path: tuple[str, ...]) -> Origin:
        dotted = ".".join(part for part in (self.name, *path) if part)
        return Origin(Rank.PROJECT_FILE, f"{self.path}: {dotted}")


def read_files(environ: Mapping[str, str]) -> Declared:
    """Return what the configuration file declares, with the chosen profile on top.

    ``GPUMEM_CONFIG`` names the file and ``GPUMEM_PROFILE`` the profile. A file that was named must be
    readable; a file that was only found is left out with a warning.
    """
    profile = environ.get("GPUMEM_PROFILE", "").strip()
    named = environ.get("GPUMEM_CONFIG", "").strip()
    result = Declared()
    table: _Table | None = None
    if named:
        origin = Origin(Rank.ENVIRONMENT, "environment GPUMEM_CONFIG")
        try:
            table, warnings = _load(Path(named))
        except FileProblem as problem:
            return Declared(faults=(Fault("GPUMEM_CONFIG", origin, str(problem)),))
        if table is None:
            return Declared(faults=(Fault("GPUMEM_CONFIG", origin, f"{named} has no table [tool.gpumem]"),))
        result += Declared(warnings=warnings)
    else:
        table, found = _search()
        result += found
    if table is None:
        if profile:
            origin = Origin(Rank.ENVIRONMENT, "environment GPUMEM_PROFILE")
            problem_text = f"the profile {profile!r} cannot be chosen: no configuration file was found"
            result += Declared(faults=(Fault("GPUMEM_PROFILE", origin, problem_text),))
        return result
    return result + _read(table, profile)


def _search() -> tuple[_Table | None, Declared]:
    result = Declared()
    for start in starts():
        for path in candidates(start):
            try:
                table, warnings = _load(path)
            except FileProblem as problem:
                # Whether the file holds our table is unknown; going on upwards could apply another project's policy.
                return None, result + Declared(warnings=(("GM103", f"{problem}; the file is left out"),))
            result += Declared(warnings=warnings)
            if table is not None:
                note = f"configuration file: {path}" + ("" if table.content else " (an empty table: opted out)")
                return table, result + Declared(notes=(note,))
    return None, result


def _load(path: Path) -> tuple[_Table | None, tuple[tuple[str, str], ...]]:
    """Return our table of the file, None if it has none, and warnings about tables with a similar name."""
    data = _parse(path)
    if path.name != "pyproject.toml" and not (isinstance(data.get("tool"), Mapping) and "gpumem" in _tools(data)):
        return _Table(path, data, ""), ()
    tools = _tools(data)
    if "gpumem" in tools:
        content = tools["gpumem"]
        if not isinstance(content, Mapping):
            message = f"{path}: tool.gpumem is not a table"
            raise FileProblem(message)
        return _Table(path, content, "tool.gpumem"), ()
    return None, _similar(path, data, tools)


def _tools(data: Mapping[str, object]) -> Mapping[str, object]:
    tools = data.get("tool", {})
    return tools if isinstance(tools, Mapping) else {}


def _similar(path: Path, data: Mapping[str, object], tools: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    wrong = data.get("tools")
    # Not as near as for a key: other tools may well be called mem or gpu.
    ours = ("gpumem", "gpu-mem", "gpumem-core")
    found = [f"tool.{name}" for name in tools if nearest(name.lower(), ours, cutoff=0.75)]
    if isinstance(wrong, Mapping) and "gpumem" in wrong:
        found.append("tools.gpumem")
    if "gpumem" in data:
        found.append("gpumem")
    return tuple(("GM107", f"{path} has a table [{name}]; gpumem reads [tool.gpumem]") for name in found)


def _parse(path: Path) -> dict[str, object]:
    try:
        raw = path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}"
        raise FileProblem(message) from error
    try:
        # Editors on Windows put a byte order mark first, which TOML does not know.
        return tomllib.loads(raw.removeprefix(_BOM).decode("utf-8"))
    except UnicodeDecodeError as error:
        encoding = "UTF-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "not UTF-8"
        message = f"{path} is {encoding} (byte {error.start}); TOML files are UTF-8"
        raise FileProblem(message) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        marks = " (it holds the marks of an unfinished merge)" if b"\n<<<<<<< " in b"\n" + raw else ""
        message = f"{path} is not valid TOML: {error}{marks}"
        raise FileProblem(message) from error


def _read(table: _Table, profile: str) -> Declared:
    content = dict(table.content)
    profiles = content.pop("profiles", {})
    if not isinstance(profiles, Mapping):
        return Declared(faults=(Fault("profiles", table.origin(("profiles",)), "is not a table of profiles"),))
    result = Declared()
    for name, inner in profiles.items():
        # Every profile is checked, chosen or not: a slip should not wait for the day somebody needs it.
        if not isinstance(inner, Mapping):
            result += Declared(faults=(Fault(f"profiles.{name}", table.origin(("profiles", name)), "is not a table"),))
        elif name != profile:
            checked = read_table(inner, lambda path, name=name: table.origin(("profiles", name, *path)), kebab=True)  # type: ignore[misc]  # bound per round
            result += Declared(faults=checked.faults)
    if not profile:
        return result + read_table(content, table.origin, kebab=True)
    chosen = profiles.get(profile)
    if not isinstance(chosen, Mapping):
        near = nearest(profile, [str(name) for name in profiles])
        origin = Origin(Rank.ENVIRONMENT, "environment GPUMEM_PROFILE")
        known = ", ".join(sorted(str(name) for name in profiles)) or "none"
        fault = Fault(
            "GPUMEM_PROFILE", origin, f"{table.path} has no profile {profile!r}", f"its profiles: {known}", near
        )
        return result + Declared(faults=(fault,))
    merged, from_profile = _on_top(content, chosen)

    def place(path: tuple[str, ...]) -> Origin:
        return table.origin(("profiles", profile, *path) if path in from_profile else path)

    return result + read_table(merged, place, kebab=True) + Declared(notes=(f"profile: {profile}",))


def _on_top(
    base: Mapping[str, object], top: Mapping[str, object], path: tuple[str, ...] = ()
) -> tuple[dict[str, object], set[tuple[str, ...]]]:
    """Return the two tables merged, and the paths that come from `top`."""
    merged = without_replaced(base, top)
    from_top: set[tuple[str, ...]] = set()
    for written, value in top.items():
        # The same key may be written with hyphens here and with underscores there; names of options are not ours.
        spellings = [name for name in merged if name.replace("-", "_") == written.replace("-", "_")]
        key = spellings[0] if spellings and "options" not in path else written
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            merged[key], deeper = _on_top(below, value, (*path, key))
            from_top |= deeper
        else:
            merged[key] = value
            from_top |= _paths(value, (*path, key))
    return merged, from_top


def _paths(value: object, path: tuple[str, ...]) -> set[tuple[str, ...]]:
    found = {path}
    if isinstance(value, Mapping):
        for key, inner in value.items():
            found |= _paths(inner, (*path, str(key)))
    return found
