"""Everything that one interpreter's frameworks need in order to run on the simulated devices."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from gpumem_simgpu.cupy_overlay import overlay_folder
from gpumem_simgpu.device import LIBRARIES, device_folder
from gpumem_simgpu.platforms import require_platform
from gpumem_simgpu.standins import standin_folder
from gpumem_simgpu.target import Target, absolute_python, find_target


@dataclass(frozen=True)
class Prepared:
    """The folders that a program's environment points at."""

    target: Target
    device: Path
    standins: Path | None
    overlay: Path | None

    @property
    def preload(self) -> tuple[str, ...]:
        """The libraries that must be there before the program's own."""
        return tuple(str(self.device / name) for name in LIBRARIES)

    @property
    def library_path(self) -> tuple[str, ...]:
        """The folders in which the program's libraries are looked for first."""
        return tuple(str(folder) for folder in (self.device, self.standins) if folder is not None)

    @property
    def python_path(self) -> tuple[str, ...]:
        """The folders in which its modules are looked for first."""
        return () if self.overlay is None else (str(self.overlay),)

    def lines(self) -> tuple[str, ...]:
        """Return what there is, for people."""
        frameworks = ", ".join(f"{one.name} {one.version}" for one in self.target.installed) or "no framework"
        standins = "not needed" if self.standins is None else str(self.standins)
        overlay = "not needed" if self.overlay is None else str(self.overlay)
        return (
            f"interpreter  {self.target.python} ({self.target.version}; {frameworks})",
            f"device       {self.device}",
            f"stand-ins    {standins}",
            f"CuPy tree    {overlay}",
        )


def prepare(python: str | None = None) -> Prepared:
    """Build what is not in the cache yet for the interpreter at this path (default: the running one).

    Raises:
        SimulationError: there cannot be simulated devices here, or something that they are built with is missing.

    """
    require_platform()
    target = find_target(sys.executable if python is None else absolute_python(python))
    return Prepared(target, device_folder(), standin_folder(target), overlay_folder(target))
