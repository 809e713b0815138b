"""Cards as they are sold, so that a test may say "2xT4" instead of numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.suggestion import did_you_mean

FOLDER = Path(__file__).parent / "profiles"


@dataclass(frozen=True)
class Profile:
    """One kind of device.

    Attributes:
        name: what a device is called by in ``devices``: "t4".
        description: what it is, for people.
        card: the name that CUDA and NVML report.
        memory: bytes that CUDA reports.
        nvml_memory: bytes that NVML reports; the driver keeps the difference.
        context: bytes that each CUDA context takes.
        compute_capability: "8.0".
        multiprocessors: how many there are.
        memory_pools: whether there are stream-ordered memory pools.
        virtual_memory: whether there is virtual memory management.
        managed_memory: whether there is (concurrent) managed memory.
        integrated: the memory is the host's, and NVML does not tell its size.
        mig_slice: "1g.5gb" for a slice of a GPU, else empty.
        mig_memory_slices: how many of a GPU's eight memory slices it takes; 0 for a whole GPU.
        file: where it stands.

    """

    name: str
    description: str
    card: str
    memory: int
    nvml_memory: int
    context: int
    compute_capability: str
    multiprocessors: int
    memory_pools: bool
    virtual_memory: bool
    managed_memory: bool
    integrated: bool
    mig_slice: str
    mig_memory_slices: int
    file: Path

    @property
    def cuda_name(self) -> str:
        """The name that CUDA reports; a slice's names its GPU first."""
        return f"{self.card} MIG {self.mig_slice}" if self.mig_slice else self.card

    @property
    def mig_compute_slices(self) -> int:
        """How many of a GPU's seven compute slices it takes; 0 for a whole GPU."""
        return int(self.mig_slice.partition("g.")[0]) if self.mig_slice else 0


@cache
def profiles() -> tuple[Profile, ...]:
    """Return the profiles that come with this package, sorted by name."""
    # Reading TOML is only paid for by those who name a profile.
    from gpumem_simgpu.profile_file import read_profile

    return tuple(read_profile(path) for path in sorted(FOLDER.glob("*.toml"), key=lambda path: path.stem))


def looks_like_a_file(text: str) -> bool:
    """Tell a path ("./card.toml") from a name ("t4")."""
    return "/" in text or text.lower().endswith(".toml")


def find_profile(text: str, where: str) -> Profile:
    """Return the profile of this name, in any case and however it is spaced, or from this file."""
    if looks_like_a_file(text):
        from gpumem_simgpu.profile_file import read_profile

        return read_profile(Path(text).expanduser())
    wanted = _plain(text)
    for profile in profiles():
        if _plain(profile.name) == wanted:
            return profile
    names = [profile.name for profile in profiles()]
    hint = did_you_mean(text, names) or f'; write a size such as "16GiB", one of {", ".join(names)}, or a file\'s path'
    message = f'{where}: "{text}" is neither a size nor a profile{hint}'
    raise SimulationError(message)


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "", name.lower())
