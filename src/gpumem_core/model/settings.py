"""What the declarations come to for one framework, apart from its budgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from gpumem_core.model.origin import DEFAULT_ORIGIN, Origin

T_co = TypeVar("T_co", covariant=True)

Reaction = Literal["error", "warn", "ignore"]
Allocator = Literal["default", "pool", "async", "direct", "vmm", "managed"]
Visible = Literal["all", "none"] | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Resolved(Generic[T_co]):
    """A value that a source decided, with that source."""

    value: T_co
    origin: Origin


@dataclass(frozen=True, slots=True)
class FrameworkSettings:
    """The settings of one framework after every source was heard.

    Attributes:
        framework: its name, the same as its import name.
        named: whether the policy mentions it by name.
        allocator: the allocator word, None where nobody said one; ``default`` leaves the framework's choice.
        visible: which ordinals it sees, None where nobody said anything.
        options: the framework's own options to pass through, by name.
        on_late: what happens with a setting that comes too late.
        on_unsupported: what happens with a field that cannot be expressed; None stands for the default,
            ``error`` for limits and hiding, ``warn`` for allocator, preallocate and options.
    """

    framework: str
    named: bool = False
    allocator: Resolved[Allocator] | None = None
    visible: Resolved[Visible] | None = None
    options: Mapping[str, Resolved[object]] = field(default_factory=dict)
    on_late: Resolved[Reaction] = Resolved("error", DEFAULT_ORIGIN)
    on_unsupported: Resolved[Reaction] | None = None

    @property
    def hidden(self) -> bool:
        """Whether the framework is to see no GPU at all."""
        return self.visible is not None and self.visible.value in ("none", ())

    def reaction_to_unsupported(self, field_name: str) -> Reaction:
        """Return what happens when `field_name` cannot be expressed."""
        if self.on_unsupported is not None:
            return self.on_unsupported.value
        return "error" if field_name in {"limit", "visible"} else "warn"
