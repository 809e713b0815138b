"""One declared setting: what, for whom, which value, from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from gpumem_core.model.fault import Fault
from gpumem_core.model.origin import Origin
from gpumem_core.sizes import Size


class Unlimited(Enum):
    """The value ``"none"``: explicitly no limit, which a weaker source cannot change."""

    NONE = "none"

    def __str__(self) -> str:
        """Return the word that is written in every source."""
        return "none"


UNLIMITED = Unlimited.NONE

Value = Size | Unlimited | bool | int | float | str | tuple[int, ...] | tuple[str, ...] | Mapping[str, object]
"""A normalised value; which type a field has stands in `gpumem_core.model.fields`."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A setting as one source declares it, already normalised.

    Attributes:
        field: the name of the policy field; `growth` never appears, it is normalised to `preallocate`.
        value: the normalised value.
        origin: the source.
        framework: the framework it is for, None for all of them.
        device: an ordinal as text (``"0"``) or the beginning of a UUID, None for all devices.
        option: for the field `options`, the name of the framework's own option.
    """

    field: str
    value: Value
    origin: Origin
    framework: str | None = None
    device: str | None = None
    option: str | None = None

    @property
    def key(self) -> str:
        """The dotted key under which a person finds the setting again."""
        parts = ["frameworks", self.framework] if self.framework else []
        parts += ["devices", self.device] if self.device is not None else []
        parts.append(self.field)
        parts += [self.option] if self.option else []
        return ".".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Declared:
    """What one or more sources declare, with the faults found while reading them.

    Attributes:
        declarations: the readable settings.
        faults: what could not be read.
        notes: remarks for the report, such as which file was used.
        warnings: pairs of a warning code and a message.
    """

    declarations: tuple[Declaration, ...] = ()
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()

    def __add__(self, other: Declared) -> Declared:
        """Join two sources."""
        return Declared(
            self.declarations + other.declarations,
            self.faults + other.faults,
            self.notes + other.notes,
            self.warnings + other.warnings,
        )
