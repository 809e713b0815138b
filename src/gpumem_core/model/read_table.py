"""A table of settings, from any source, read into declarations and faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from gpumem_core.model.declaration import Declaration, Declared, Value
from gpumem_core.model.fault import Fault
from gpumem_core.model.fields import FIELD_SPECS, TABLES, Level, names_at
from gpumem_core.model.origin import Origin
from gpumem_core.model.read_value import FieldError, nearest

Place = Callable[[tuple[str, ...]], Origin]
"""Makes the origin of a value from its path of keys, such as ``("frameworks", "NAME", "cap")``."""

_ORDINAL: Final = re.compile(r"[0-9]{1,4}")
_UUID_PREFIX: Final = re.compile(r"(?:GPU|MIG)-[0-9A-Fa-f/-]+", re.IGNORECASE)
_HIDDEN: Final = "hidden"


def read_table(table: Mapping[str, object], place: Place, *, kebab: bool = False) -> Declared:
    """Read a whole policy table.

    Args:
        table: keys and values, with the nested tables ``devices`` and ``frameworks``. ``None`` is an unset value.
        place: makes the origin of each value.
        kebab: whether keys are written with hyphens, as in TOML; underscores are accepted there too.

    Returns:
        the declarations and every fault found; nothing is raised.
    """
    reader = _Reader(place, kebab)
    reader.read(table, "policy", (), None, None)
    return Declared(tuple(reader.declarations), tuple(reader.faults))


class _Reader:
    def __init__(self, place: Place, kebab: bool) -> None:
        self.place = place
        self.kebab = kebab
        self.declarations: list[Declaration] = []
        self.faults: list[Fault] = []

    def fault(self, path: tuple[str, ...], problem: str, accepted: str = "", suggestion: str = "") -> None:
        self.faults.append(Fault(".".join(path), self.place(path), problem, accepted, suggestion))

    def read(
        self,
        table: Mapping[str, object],
        level: Level,
        path: tuple[str, ...],
        framework: str | None,
        device: str | None,
    ) -> None:
        taken: dict[str, tuple[tuple[str, ...], Value]] = {}
        for written, value in table.items():
            here = (*path, str(written))
            if value is None:
                continue
            name = str(written).replace("-", "_") if self.kebab else str(written)
            if name in TABLES and level in TABLES[name]:
                self.read_nested(name, value, here, framework)
            elif name in FIELD_SPECS and level in FIELD_SPECS[name].levels:
                self.read_field(name, value, here, taken)
            else:
                self.unknown(name, level, here)
        self.join_growth(taken)
        for name, (here, normalised) in taken.items():
            self.declare(name, normalised, here, framework, device)

    def read_field(
        self, name: str, value: object, here: tuple[str, ...], taken: dict[str, tuple[tuple[str, ...], Value]]
    ) -> None:
        spec = FIELD_SPECS[name]
        if name in taken:
            self.fault(here, f"the same key stands twice, as {'.'.join(taken[name][0])} too")
            return
        try:
            normalised = spec.read(value)
        except FieldError as error:
            self.fault(here, error.problem, spec.accepted, error.suggestion)
            return
        if spec.later or (name == "processes_per_device" and normalised == "auto"):
            self.fault(here, spec.later or FIELD_SPECS["share"].later)
            return
        taken[name] = (here, normalised)

    def join_growth(self, taken: dict[str, tuple[tuple[str, ...], Value]]) -> None:
        """Normalise `growth` to `preallocate`; both may stand together as long as they agree."""
        if "growth" not in taken:
            return
        here, growth = taken.pop("growth")
        if "preallocate" not in taken:
            taken["preallocate"] = (here, not growth)
            return
        preallocate = taken["preallocate"][1]
        agrees = growth is not preallocate if isinstance(preallocate, bool) else growth is True
        if not agrees:
            shown = str(preallocate).lower() if isinstance(preallocate, bool) else f'"{preallocate}"'
            self.fault(
                here,
                f"growth = {str(growth).lower()} contradicts preallocate = {shown} at the same place",
                "growth = true with preallocate = false or a size, growth = false with preallocate = true",
            )

    def declare(
        self, name: str, value: Value, here: tuple[str, ...], framework: str | None, device: str | None
    ) -> None:
        if name == "options" and isinstance(value, Mapping):
            for option, text in value.items():
                origin = self.place((*here, option))
                self.declarations.append(Declaration(name, _plain(text), origin, framework, device, option))
            return
        self.declarations.append(Declaration(name, value, self.place(here), framework, device))

    def read_nested(self, name: str, value: object, here: tuple[str, ...], framework: str | None) -> None:
        if not isinstance(value, Mapping):
            self.fault(here, f"{value!r} is not a table", f"a table with one table per {name.removesuffix('s')}")
            return
        seen: dict[str, object] = {}
        for key, inner in value.items():
            below = (*here, str(key))
            if inner is None:
                continue
            text = str(key).strip().lower()
            same = str(int(text)) if _ORDINAL.fullmatch(text) else text
            if same in seen:
                self.fault(below, f"the same key stands twice, as {seen[same]!r} too")
                continue
            seen[same] = key
            if name == "devices":
                self.read_device(key, inner, below, framework)
            else:
                self.read_framework(str(key), inner, below)

    def read_device(self, key: object, inner: object, here: tuple[str, ...], framework: str | None) -> None:
        text = "" if isinstance(key, bool) else str(key).strip()
        if not (_ORDINAL.fullmatch(text) or _UUID_PREFIX.fullmatch(text)):
            self.fault(
                here, f"{key!r} is neither an ordinal nor the beginning of a UUID", '0, "1", "GPU-0a1b", "MIG-..."'
            )
            return
        if not isinstance(inner, Mapping):
            self.fault(here, f"{inner!r} is not a table", 'a table such as { cap = "8GiB" }')
            return
        device = str(int(text)) if text.isdigit() else text
        self.read(inner, "framework_device" if framework else "device", here, framework, device)

    def read_framework(self, name: str, inner: object, here: tuple[str, ...]) -> None:
        if isinstance(inner, str) and inner.strip().lower() == _HIDDEN:
            inner = {"visible": "none"}
        # Attributes of a FrameworkPolicy arrive as a mapping already; a bare word is a frequent slip.
        if not isinstance(inner, Mapping):
            self.fault(here, f"{inner!r} is not a table", f'a table such as {{ cap = "8GiB" }}, or "{_HIDDEN}"')
            return
        self.read(inner, "framework", here, name.strip().lower(), None)

    def unknown(self, name: str, level: Level, here: tuple[str, ...]) -> None:
        if name in FIELD_SPECS or name in TABLES:
            where = FIELD_SPECS[name].levels if name in FIELD_SPECS else TABLES[name]
            self.fault(here, f"{name} cannot stand here, only {_places(where)}")
            return
        names = names_at(level)
        near = nearest(name, names)
        shown = near.replace("_", "-") if self.kebab else near
        self.fault(
            here, "there is no such key", ", ".join(n.replace("_", "-") if self.kebab else n for n in names), shown
        )


def _plain(value: object) -> Value:
    if isinstance(value, str | int | float | bool):
        return value
    return str(value)


def _places(levels: Iterable[Level]) -> str:
    words: dict[Level, str] = {
        "policy": "at the top",
        "device": "under devices.D",
        "framework": "under frameworks.F",
        "framework_device": "under frameworks.F.devices.D",
    }
    return " or ".join(words[level] for level in words if level in set(levels))
