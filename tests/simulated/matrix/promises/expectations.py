"""Where a framework cannot keep a promise: which, what gpumem says of it, and why. Everything else must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from matrix.promises.cells import GIB, LIMIT, MIB, MOMENTS, Cell

State = Literal["holds", "less", "told", "refused", "late", "left out"]

STATES = {
    "holds": "in force, and the device's log shows it",
    "less": "in force and proven, with less on a device than was asked for; the report says so",
    "told": "a part cannot be expressed: a warning and the report say so before the first allocation, the rest holds",
    "refused": "an error before anything is changed, which says what to do instead",
    "late": "an error before anything is changed, which says who was first and what is in force",
    "left out": "a suggestion that comes too late: nothing is changed, and a note of the report says why",
}

EVERYWHERE = tuple(MOMENTS)
LATER = ("imported", "discovered", "started")


@dataclass(frozen=True)
class Otherwise:
    """An expectation other than "holds".

    Attributes:
        framework: whose.
        promises: the beginnings of the promises' names.
        state: what is expected.
        missing: the fields that do not hold: limit, preallocate, allocator, visible.
        because: the reason.
        moments: at which moments.
        source: by which source; empty for all.
        below: only with versions of the framework below this one.
        limits: the limits that follow on each device, where they are less than asked.
    """

    framework: str
    promises: tuple[str, ...]
    state: State
    missing: tuple[str, ...]
    because: str
    moments: tuple[str, ...] = EVERYWHERE
    source: str = ""
    below: tuple[int, ...] | None = None
    limits: tuple[int, ...] | None = None

    def meets(self, cell: Cell, version: str) -> bool:
        """Return whether it is about this cell."""
        return (
            cell.promise.name.startswith(self.promises)
            and cell.moment in self.moments
            and self.source in ("", cell.source)
            and (self.below is None or numbers(version) < self.below)
        )


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers at the beginning of a version."""
    parts = version.split("+")[0].split(".")
    return tuple(int(part) for part in parts if part.isdigit())


EVERYTHING = ("limit", "preallocate", "allocator", "visible")
_STARTED = ("cap", "fraction", "growth", "preallocate", "allocator", "hidden")
_NO_LIMIT = ("allocator=async", "allocator=direct", "allocator=managed")
_ALLOCATORS_EXIST = "its allocators exist until the process ends"

OTHERWISE = (
    Otherwise("jax", _STARTED, "late", EVERYTHING, _ALLOCATORS_EXIST, ("started",)),
    Otherwise("tensorflow", _STARTED, "late", EVERYTHING, _ALLOCATORS_EXIST, ("started",)),
    Otherwise("jax", ("preallocate=",), "told", ("preallocate",), "JAX takes its whole limit ahead, or nothing"),
    Otherwise("tensorflow", ("preallocate=",), "told", ("preallocate",), "its pool takes all of it ahead, or nothing"),
    Otherwise("jax", _NO_LIMIT, "told", ("allocator",), "these hold no limit"),
    Otherwise("jax", ("allocator=vmm",), "told", ("allocator",), "it came with 0.10.0", below=(0, 10)),
    Otherwise("tensorflow", ("allocator=async", "allocator=direct"), "told", ("allocator",), "these hold no limit"),
    Otherwise("tensorflow", ("allocator=vmm",), "told", ("allocator",), "TensorFlow has none"),
    Otherwise("torch", ("allocator=async",), "late", ("allocator",), "the backend is fixed by the import", LATER),
    Otherwise("torch", ("allocator=direct",), "told", ("allocator",), "without its cache PyTorch holds no limit"),
    Otherwise("torch", ("allocator=managed",), "told", ("allocator",), "PyTorch has none"),
    Otherwise("cupy", ("allocator=direct",), "told", ("allocator",), "without a pool CuPy holds no limit"),
    Otherwise("cupy", ("allocator=vmm",), "told", ("allocator",), "CuPy has none"),
    Otherwise("torch", ("hidden",), "refused", ("visible",), "only CUDA_VISIBLE_DEVICES hides GPUs from PyTorch"),
    Otherwise("cupy", ("hidden",), "refused", ("visible",), "only CUDA_VISIBLE_DEVICES hides GPUs from CuPy"),
    *(
        Otherwise(name, ("cap",), "told", ("allocator",), "the user's allocator holds no limit", source="own allocator")
        for name in ("jax", "tensorflow", "torch")
    ),
    Otherwise(
        "jax", ("cap, on unequal devices",), "less", (), "one fraction for all devices: the smaller one gets its share",
        limits=(GIB, LIMIT),
    ),
)  # fmt: skip

HOLDS = Otherwise("", (), "holds", (), "")

ROUNDED_UP = {("jax", "fraction of no whole blocks"): 2 * MIB}
"""By how much more than the limit, in bytes, a framework may hold: JAX rounds a fraction up to whole blocks."""


OVERRULED = {
    "jax": {"limit"},
    "tensorflow": {"preallocate"},
    "torch": {"allocator"},
    "cupy": {"limit"},
}
"""What the user's own variables of a cell are about: a policy on the same overrules them, with a warning."""


def crashes(frameworks: tuple[str, ...], versions: Mapping[str, str]) -> str:
    """Return why frameworks cannot share a process in this order, with or without gpumem; else an empty text.

    TensorFlow exports symbols of its own libstdc++, and a PyTorch that is imported after it takes std::random_device
    from there, unless another framework has brought the system's libstdc++ before. Seen with TensorFlow 2.18.0 and
    PyTorch 2.5.1, not with 2.21.0 and 2.14.1: https://github.com/pytorch/pytorch/issues/101152 and 118088.
    """
    first_two = frameworks[0] == "tensorflow" and "torch" in frameworks
    if first_two and numbers(versions["tensorflow"]) < (2, 19) and numbers(versions["torch"]) < (2, 6):
        return "PyTorch takes std::random_device from TensorFlow"
    return ""


def expected(cell: Cell, framework: str, version: str) -> Otherwise:
    """Return what is expected of a framework in a cell."""
    found = next((o for o in OTHERWISE if o.framework == framework and o.meets(cell, version)), HOLDS)
    if found.state == "late" and cell.source == "prefer":
        return replace(found, state="left out", missing=EVERYTHING)
    return found


def limits_of(cell: Cell, framework: str) -> tuple[int | None, ...]:
    """Return the limits that follow for a framework: those of the promise, or less where that is expected."""
    less = (o.limits for o in OTHERWISE if o.framework == framework and o.limits and o.meets(cell, "0"))
    return next(less, cell.promise.limits)
