"""`Policy`: a policy written in code. Its constructor checks every value and names every fault at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, TypedDict

from gpumem_core.errors import PolicyError
from gpumem_core.model.declaration import Declared, Unlimited
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.read_table import read_table
from gpumem_core.model.settings import Allocator, Reaction
from gpumem_core.sizes import Size

SizeLike = Size | str | int
CapLike = SizeLike | Unlimited
FractionLike = float | int | str | Unlimited
PreallocateLike = bool | SizeLike
VisibleLike = Literal["all", "none"] | str | Sequence[int]
DevicesLike: TypeAlias = "Mapping[str | int, DevicePolicy | Mapping[str, object]]"
FrameworksLike: TypeAlias = "Mapping[str, FrameworkPolicy | Mapping[str, object] | str]"


def _given(record: object) -> dict[str, object]:
    """Return the fields that were given, nested records as tables."""
    table: dict[str, object] = {}
    for item in fields(record):  # type: ignore[arg-type]  # only called with the records below
        value = getattr(record, item.name)
        if value is None:
            continue
        table[item.name] = as_table(value)
    return table


def as_table(value: object) -> object:
    """Return policies and overrides as plain tables, everything else as it is."""
    if isinstance(value, Policy | FrameworkPolicy | DevicePolicy):
        return _given(value)
    if isinstance(value, Mapping):
        return {key: as_table(inner) for key, inner in value.items()}
    return value


class PolicyFields(TypedDict, total=False):
    """The fields of `Policy` as keyword arguments."""

    cap: CapLike | None
    fraction: FractionLike | None
    preallocate: PreallocateLike | None
    growth: bool | None
    allocator: Allocator | None
    visible: VisibleLike | None
    headroom: SizeLike | None
    processes_per_device: int | Literal["auto"] | None
    process_cap: SizeLike | None
    devices: DevicesLike | None
    frameworks: FrameworksLike | None
    on_late: Reaction | None
    on_unsupported: Reaction | None
    ignore: Sequence[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePolicy:
    """What is different on one device. The fields are those of `Policy`."""

    cap: CapLike | None = None
    fraction: FractionLike | None = None
    preallocate: PreallocateLike | None = None
    growth: bool | str | None = None
    headroom: SizeLike | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkPolicy:
    """What is different for one framework. The fields are those of `Policy`, and the framework's own `options`."""

    cap: CapLike | None = None
    fraction: FractionLike | None = None
    share: FractionLike | None = None
    preallocate: PreallocateLike | None = None
    growth: bool | str | None = None
    allocator: Allocator | str | None = None
    visible: VisibleLike | None = None
    devices: Mapping[str | int, DevicePolicy | Mapping[str, object]] | None = None
    options: Mapping[str, str | int | float | bool] | None = None
    on_late: Reaction | str | None = None
    on_unsupported: Reaction | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A GPU memory policy.

    Every field is optional; None leaves it unset, and ``"none"`` for `cap` and `fraction` is an explicit wish for
    no limit. Sizes are bytes: ``"8GiB"``, ``"8GB"``, an int, ``"50%"`` of the total or ``"80% free"``.

    Attributes:
        cap: the most device memory each framework's allocator may hold, per process and device.
        fraction: this program's share of each device's total, all its processes together; the smaller of cap
            and fraction wins.
        preallocate: False for nothing ahead, True for the whole limit at first touch, or a size.
        growth: the other way to say it; True is ``preallocate=False``.
        allocator: ``default``, ``pool``, ``async``, ``direct``, ``vmm`` or ``managed``.
        visible: ``"all"``, ``"none"`` or a list of ordinals.
        headroom: left free per process for context, library handles and NCCL; 512 MiB by default where
            `processes_per_device` is above 1, else nothing.
        processes_per_device: how many of this program's processes share a device.
        process_cap: what one process may hold in all (not available yet: refused).
        devices: overrides by ordinal or by the beginning of a UUID.
        frameworks: overrides by framework; the word ``"hidden"`` is short for ``visible="none"``.
        on_late: ``error`` (default), ``warn`` or ``ignore`` for settings that come too late.
        on_unsupported: the same for fields a framework cannot express; by default an error for limits and hiding
            and a warning for the rest.
        ignore: codes of warnings that are not given.

    Raises:
        PolicyError: with every fault, when a value or key cannot be accepted.

    Example:
        >>> policy = Policy(cap="8GiB", growth=True, devices={1: {"cap": "2GiB"}})
        >>> Policy(cap="8 gibibytes")
        Traceback (most recent call last):
        ...
        gpumem.PolicyError: the GPU memory policy has a fault; nothing was changed:
          - cap (Policy(cap=...)): '8 gibibytes' is not a size. Accepted: "8GiB" (2**30), ...
    """

    cap: CapLike | None = None
    fraction: FractionLike | None = None
    preallocate: PreallocateLike | None = None
    growth: bool | str | None = None
    allocator: Allocator | str | None = None
    visible: VisibleLike | None = None
    headroom: SizeLike | None = None
    processes_per_device: int | str | None = None
    process_cap: SizeLike | None = None
    devices: Mapping[str | int, DevicePolicy | Mapping[str, object]] | None = None
    frameworks: Mapping[str, FrameworkPolicy | Mapping[str, object] | str] | None = None
    on_late: Reaction | str | None = None
    on_unsupported: Reaction | str | None = None
    ignore: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Check every value and raise one error with all faults."""
        declared = self.declared(lambda path: Origin(Rank.ARGUMENTS, f"Policy({'.'.join(path)}=...)"))
        if declared.faults:
            raise PolicyError(declared.faults)

    def to_dict(self) -> dict[str, object]:
        """Return the given fields as a plain table that `from_mapping` reads back."""
        return _given(self)

    @classmethod
    def from_mapping(cls, table: Mapping[str, object]) -> Policy:
        """Make a policy from a table with the same keys.

        Raises:
            PolicyError: with every fault, unknown keys included.
        """
        declared = read_table(
            {key: as_table(value) for key, value in table.items()},
            lambda path: Origin(Rank.ARGUMENTS, f"Policy({'.'.join(path)}=...)"),
        )
        if declared.faults:
            raise PolicyError(declared.faults)
        return cls(**table)  # type: ignore[arg-type]  # the keys and values were just checked

    def declared(self, place: object) -> Declared:
        """Return the fields as declarations whose origins `place` makes."""
        return read_table(self.to_dict(), place)  # type: ignore[arg-type]  # a Place; kept out of the public signature
