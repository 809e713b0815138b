"""What a cell's program asks each framework for."""

from __future__ import annotations

from collections.abc import Iterator

from matrix.promises.cells import GIB, MIB, Cell
from matrix.promises.expectations import limits_of


def asks(cell: Cell) -> dict[str, list[tuple[str, int | None, int]]]:
    """Return what each framework asks for: a little, much, all that fits, and more than that."""
    return {name: list(_asks(cell, name)) for name in cell.frameworks}


def _asks(cell: Cell, framework: str) -> Iterator[tuple[str, int | None, int]]:
    for device, limit in enumerate(limits_of(cell, framework)):
        if cell.promise.hidden:
            yield "first", None if framework in {"jax", "tensorflow"} else device, MIB
        elif limit is None:
            yield from (("first", device, MIB), ("fits", device, 4 * GIB), ("fits", device, 4 * GIB))
        else:
            fits = limit // 4 * 3 // MIB * MIB
            yield from (("first", device, MIB), ("fits", device, fits), ("fill", device, limit - fits - MIB))
            yield from (("beyond", device, limit // 2), ("beyond", device, 32 * MIB))
