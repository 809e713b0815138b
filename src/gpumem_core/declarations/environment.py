"""The policy in ``GPUMEM_*`` variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gpumem_core.model.declaration import Declared
from gpumem_core.model.fault import Fault
from gpumem_core.model.fields import TABLES, names_at
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.read_table import read_table
from gpumem_core.model.read_value import nearest

PREFIX: Final = "GPUMEM_"
CONTROLS: Final[Mapping[str, str]] = {
    "GPUMEM_CONFIG": "the configuration file to read instead of searching for one",
    "GPUMEM_PROFILE": "the profile of the configuration file to put on top",
    "GPUMEM_ASSUME_DEVICES": 'devices to calculate with instead of asking, such as "2x16GiB"',
}
"""Variables that are no policy fields, with their meaning."""

RESERVED: Final = ("GPUMEM_DISABLE", "GPUMEM_PLUGINS", "GPUMEM_REPORT", "GPUMEM_STATE")
"""Names that a later version will read; until then they have no effect, which is said."""

# A Kubernetes service called gpumem, or gpumem-something, puts these into every pod of its namespace.
_KUBERNETES: Final = re.compile(
    r"GPUMEM(?:_[A-Z0-9_]+)?_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?"
    r"|PORT(?:_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)"
)


def read_environment(environ: Mapping[str, str]) -> Declared:
    """Return what the ``GPUMEM_*`` variables of `environ` declare. An empty variable is an unset one."""
    table: dict[str, object] = {}
    variable_of: dict[tuple[str, ...], str] = {}
    faults: list[Fault] = []
    warnings: list[tuple[str, str]] = []
    for name in sorted(environ):
        value = environ[name]
        if not name.startswith(PREFIX) or not value.strip() or name in CONTROLS or _KUBERNETES.fullmatch(name):
            continue
        if name in RESERVED:
            warnings.append(("GM102", f"the variable {name} has no effect in this version of gpumem"))
            continue
        path = _path(name)
        if path[0] not in names_at("policy"):
            _unknown(name, path[0], faults, warnings)
        elif path in variable_of:
            faults.append(Fault(name, _origin(name), f"means the same as {variable_of[path]}"))
        else:
            variable_of[path] = name
            problem = _put(table, path, value)
            if problem:
                faults.append(Fault(name, _origin(name), problem))

    def place(path: tuple[str, ...]) -> Origin:
        # A word such as "hidden" makes a longer path than its variable has, a faulty table a shorter one.
        near = (v for p, v in variable_of.items() if path[: len(p)] == p or p[: len(path)] == path)
        return _origin(variable_of.get(path) or next(near, PREFIX))

    declared = read_table(table, place)
    named = tuple(
        Fault(variable_of.get(tuple(f.key.split(".")), f.key), f.origin, f.problem, f.accepted, f.suggestion)
        for f in declared.faults
    )
    return Declared(declared.declarations, (*faults, *named), (), tuple(warnings))


def _origin(name: str) -> Origin:
    return Origin(Rank.ENVIRONMENT, f"environment {name}")


def _path(name: str) -> tuple[str, ...]:
    parts = [part.lower() for part in name[len(PREFIX) :].split("__")]
    for position, part in enumerate(parts[:-1]):
        # A shell variable cannot hold the dashes of a UUID.
        if part == "devices" and re.match(r"(gpu|mig)_", parts[position + 1]):
            parts[position + 1] = (
                parts[position + 1].replace("_", "-").replace("gpu", "GPU", 1).replace("mig", "MIG", 1)
            )
    return tuple(parts)


def _unknown(name: str, first: str, faults: list[Fault], warnings: list[tuple[str, str]]) -> None:
    known = [*names_at("policy"), *(control[len(PREFIX) :].lower() for control in CONTROLS)]
    near = nearest(first, known)
    table, _, rest = first.partition("_")
    if table in TABLES and rest:
        # A single underscore where two separate the parts.
        framework, _, field = rest.partition("_")
        suggestion = f"{PREFIX}{table}__{framework}__{field or 'CAP'}".upper()
        faults.append(Fault(name, _origin(name), "there is no such variable", "", suggestion))
    elif near:
        suggestion = name.upper().replace(first.upper(), near.upper(), 1)
        faults.append(Fault(name, _origin(name), "there is no such variable", "", suggestion))
    else:
        warnings.append(("GM102", f"the variable {name} is unknown and has no effect"))


def _put(table: dict[str, object], path: tuple[str, ...], value: str) -> str:
    """Put `value` into the nested table; return what is wrong, empty if nothing is."""
    if not all(path):
        return "the name has an empty part between its double underscores"
    here = table
    for key in path[:-1]:
        inner = here.setdefault(key, {})
        if not isinstance(inner, dict):
            return f"{key} is given a value of its own by another variable"
        here = inner
    if isinstance(here.get(path[-1]), dict):
        return f"{path[-1]} is given more keys by another variable"
    here[path[-1]] = value
    return ""
