"""What a translation starts from, and what it is put together of."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from gpumem.plugin import Answer, FrameworkState
from gpumem_torch.parse import Configuration, read
from gpumem_torch.release import Release, installed_release
from gpumem_torch.variables import caching_is_off, text_to_extend


@dataclass(frozen=True, slots=True)
class Situation:
    """PyTorch and its environment, as far as a plan depends on them.

    Attributes:
        release: the release, None where unknown: then it is taken for the newest tested one.
        imported: whether PyTorch is imported.
        started: whether CUDA has started in it.
        backend: the allocator's backend of an imported PyTorch, None before the import.
        configuration: what is in force by the user's string, or what PyTorch has read already.
        caching_off: whether the user's variable switches the cache off.
        user_limits: whether the user set limits through PyTorch itself, by string or by call.
        local_rank: which of the processes on this machine this one is, None where no launcher says so.
        windows: whether this is Windows.
    """

    release: Release | None
    imported: bool
    started: Answer
    backend: str | None
    configuration: Configuration
    caching_off: bool
    user_limits: bool
    local_rank: int | None
    windows: bool

    @property
    def foreign(self) -> bool:
        """Whether another allocator stands in for PyTorch's own (`change_current_allocator`, as RMM does)."""
        return self.backend not in {None, "native", "cudaMallocAsync"}

    @property
    def asynchronous(self) -> bool:
        """Whether cudaMallocAsync is or will be the backend, as things stand."""
        if self.backend is not None:
            return self.backend == "cudaMallocAsync"
        return self.configuration.values.get("backend") == "cudaMallocAsync"

    @property
    def expandable(self) -> bool:
        """Whether segments are or will be expandable, as things stand."""
        return self.configuration.values.get("expandable_segments") == "True"


def situation_of(state: FrameworkState, environ: Mapping[str, str]) -> Situation:
    """Return the situation that a state and an environment describe."""
    release = installed_release(state.versions)
    imported = state.imported is Answer.YES
    read_already = state.details.get("configuration")
    text = read_already if isinstance(read_already, str) else text_to_extend(environ, release)
    backend = state.details.get("backend")
    configuration = read(text, release)
    return Situation(
        release=release,
        imported=imported,
        started=state.started,
        backend=str(backend) if backend else None,
        configuration=configuration,
        caching_off=caching_is_off(environ, release),
        user_limits=bool(state.settings) or "per_process_memory_fraction" in configuration.values,
        local_rank=local_rank(environ),
        windows=sys.platform == "win32",
    )


def local_rank(environ: Mapping[str, str]) -> int | None:
    """Return which of the processes on this machine this one is, None where no launcher says so.

    torchrun and Lightning set LOCAL_RANK; Slurm SLURM_LOCALID, which is also there for a single task and says nothing
    then; Open MPI and MPICH their own.

    Example:
        >>> local_rank({"LOCAL_RANK": "3"}), local_rank({"SLURM_LOCALID": "0", "SLURM_NTASKS": "1"})
        (3, None)
    """
    tasks = environ.get("SLURM_STEP_NUM_TASKS", environ.get("SLURM_NTASKS", "1"))
    names = ["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID"]
    if tasks.isdigit() and int(tasks) > 1:
        names.append("SLURM_LOCALID")
    return next((int(environ[name]) for name in names if environ.get(name, "").isdigit()), None)
