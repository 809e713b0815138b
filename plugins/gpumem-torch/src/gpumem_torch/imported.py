"""The imported PyTorch, seen through the few calls that neither initialise CUDA nor read its configuration early.

PyTorch's types are unknown here on purpose: the plugin is checked and tested without PyTorch. Which call is in which
release was looked at in the wheels of 2.5.1, 2.6.0, 2.7.1, 2.9.1 and 2.14.1.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from gpumem.plugin import cuda_state
from gpumem_torch.build import imported_build
from gpumem_torch.keys import comparable, known
from gpumem_torch.parse import read
from gpumem_torch.release import LIMITS_WITHOUT_CONTEXT, Release, is_before, release_of
from gpumem_torch.remember_fractions import remembered
from gpumem_torch.variables import text_in_force

MIB: Final = 1 << 20
DEFAULT_SEGMENT: Final = 20 * MIB


class UnreadableError(Exception):
    """PyTorch does not tell something; the message says why."""


def imported_module() -> ModuleType | None:
    """Return the module ``torch`` if it is imported to its end."""
    module = sys.modules.get("torch")
    if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
        return None
    return module


class Torch:
    """The imported module.

    Args:
        module: the module ``torch``.
    """

    def __init__(self, module: ModuleType) -> None:
        """Look nothing up yet."""
        self.module: Any = module

    @property
    def genuine(self) -> bool:
        """Whether it is PyTorch at all, and not a user's own file of that name."""
        return hasattr(self.module, "_C") and hasattr(self.module, "cuda")

    @property
    def for_cuda(self) -> bool:
        """Whether it is built for CUDA."""
        return self.genuine and imported_build(self.module) == "cuda"

    @property
    def version(self) -> str:
        """The full version, such as ``2.14.1+cu130``; empty where the module does not tell."""
        return str(getattr(self.module, "__version__", ""))

    @property
    def release(self) -> Release | None:
        """The release, None where the module does not tell."""
        return release_of(self.version)

    def has(self, name: str) -> bool:
        """Return whether `torch._C` has a function."""
        return hasattr(self.module._C, name)

    @property
    def c(self) -> Any:
        """`torch._C`."""
        return self.module._C

    @property
    def cuda_started(self) -> bool:
        """`torch.cuda.is_initialized()`; False where only pinned memory was used."""
        return bool(self.module.cuda.is_initialized())

    @property
    def bad_fork(self) -> bool:
        """Whether CUDA was initialised before this process was forked: PyTorch refuses the GPU then."""
        ask = getattr(self.module.cuda, "_is_in_bad_fork", None)
        return bool(ask()) if ask else False

    @property
    def allocator_started(self) -> bool | None:
        """Whether the GPU's allocator has started, None before PyTorch 2.9, which does not tell it."""
        if not self.has("_accelerator_isAllocatorInitialized"):
            return None
        try:
            return bool(self.c._accelerator_isAllocatorInitialized())
        except RuntimeError:  # a build without an accelerator
            return False

    @property
    def backend(self) -> str:
        """``native``, ``cudaMallocAsync``, or ``pluggable`` after `change_current_allocator`. Starts nothing."""
        return str(self.c._cuda_getAllocatorBackend())

    def count(self) -> int:
        """Return how many devices PyTorch sees. Only to be asked when CUDA has started or is starting."""
        return int(self.c._cuda_getDeviceCount())

    def total(self, device: int) -> int:
        """Return the memory of a device in bytes, as PyTorch multiplies it with a fraction. Needs CUDA.

        `get_device_properties` reads what CUDA told at its start. Before 2.10 PyTorch multiplies with what
        `cudaMemGetInfo` says, and setting a limit asks that anyway: the smaller of the two is taken.
        """
        total = int(self.module.cuda.get_device_properties(device).total_memory)
        if is_before(self.release, LIMITS_WITHOUT_CONTEXT):
            with self.kept_device(device):
                total = min(total, int(self.module.cuda.mem_get_info(device)[1]))
        return total

    @contextmanager
    def kept_device(self, device: int) -> Iterator[None]:
        """Make a device the current one and restore the one before, which setting a limit before 2.10 does not."""
        with self.module.cuda.device(device):
            yield

    @property
    def reads_limits(self) -> bool:
        """Whether PyTorch has a call that reads a limit, which it has since 2.6."""
        return self.has("_cuda_getMemoryFraction")

    def can_read_limit(self, device: int) -> bool:
        """Return whether a device's limit can be read without making a context there."""
        free = not is_before(self.release, LIMITS_WITHOUT_CONTEXT) and self.backend == "native"
        return free or device in cuda_state().contexts

    def fraction(self, device: int) -> float:
        """Return the fraction in force on a device. Needs CUDA.

        Raises:
            UnreadableError: before PyTorch 2.6 where gpumem has set none, and where reading would make a context.
        """
        if not self.reads_limits:
            fraction = remembered(self.c).get(device)
            if fraction is None:
                message = f"PyTorch {self.version} cannot tell its limit; 2.6 and later can"
                raise UnreadableError(message)
            return fraction
        if not self.can_read_limit(device):
            message = f"PyTorch has not used device {device} yet, and asking would start it there"
            raise UnreadableError(message)
        try:
            if not is_before(self.release, LIMITS_WITHOUT_CONTEXT):
                return float(self.c._cuda_getMemoryFraction(device))
            with self.kept_device(device):
                return float(self.c._cuda_getMemoryFraction(device))
        except RuntimeError as error:  # an allocator that is not PyTorch's own
            raise UnreadableError(str(error).partition("\n")[0]) from error

    def set_fraction(self, device: int, fraction: float) -> None:
        """Set the fraction of a device and leave the current device as it is. Needs CUDA."""
        if is_before(self.release, LIMITS_WITHOUT_CONTEXT):
            with self.kept_device(device):
                self.c._cuda_setMemoryFraction(fraction, device)
        else:
            self.c._cuda_setMemoryFraction(fraction, device)

    def held(self, device: int) -> int | None:
        """Return the bytes PyTorch's allocator holds on a device, None where asking would make a context."""
        if self.backend != "native" and device not in cuda_state().contexts:
            return None
        try:
            return int(self.c._cuda_memoryStats(device)["reserved_bytes"]["all"]["current"])
        except (RuntimeError, KeyError):  # an allocator that is not PyTorch's own keeps no statistics
            return None

    @property
    def caches(self) -> bool | None:
        """Whether the cache is on, None where PyTorch does not tell it. Only to be asked when CUDA has started."""
        if not self.has("_cuda_cudaCachingAllocator_is_enabled"):
            return None
        return bool(self.c._cuda_cudaCachingAllocator_is_enabled())

    def settings(self) -> dict[str, object]:
        """Return the allocator's configuration as PyTorch tells it. Only to be asked when CUDA has started.

        Reading fixes the configuration, which the start of CUDA has done from 2.10 on; before it happens with the
        first allocation.

        Raises:
            UnreadableError: with cudaMallocAsync, and where PyTorch cannot read its string.
        """
        if not self.cuda_started and not read(text_in_force(os.environ, self.release), self.release).usable:
            # CUDA's start has failed on that string. The allocator calls itself started all the same from 2.10 on,
            # and any further question to it is a segmentation fault (tried with 2.14.1).
            message = "PyTorch could not start its allocator: its configuration string cannot be read"
            raise UnreadableError(message)
        try:
            try:
                snapshot = self.c._cuda_memorySnapshot(None)
            except TypeError:  # the argument came after 2.6
                snapshot = self.c._cuda_memorySnapshot()
        except (RuntimeError, ValueError) as error:  # cudaMallocAsync; a string that cannot be read
            raise UnreadableError(str(error).partition("\n")[0]) from error
        return dict(snapshot["allocator_settings"])

    def configuration_text(self) -> str:
        """Return the configuration string that PyTorch used last. Only to be asked when CUDA has started.

        Raises:
            UnreadableError: with cudaMallocAsync before the release that has a call for it, and where PyTorch cannot
                read the string.
        """
        if self.has("_accelerator_getAllocatorSettings"):
            try:
                return str(self.c._accelerator_getAllocatorSettings())
            except ValueError as error:  # a string that cannot be read
                raise UnreadableError(str(error).partition("\n")[0]) from error
        return str(self.settings().get("PYTORCH_CUDA_ALLOC_CONF", ""))

    def configured(self) -> dict[str, object]:
        """Return the configuration by key, in the form in which observations are compared. Needs CUDA.

        Raises:
            UnreadableError: as `configuration_text`.
        """
        values: dict[str, object] = {}
        for name, text in read(self.configuration_text(), self.release).values.items():
            key = known(name, self.release)
            if key is not None:
                values[name] = comparable(key, text)
        if self.backend == "native":
            values |= _from_snapshot(self.settings())
        return values

    def expandable(self) -> bool:
        """Return whether new segments are expandable. Needs CUDA."""
        return self.backend == "native" and bool(self.settings().get("expandable_segments"))

    def segment(self) -> int:
        """Return the size in bytes of the segments for large tensors: 20 MiB unless configured otherwise."""
        try:
            size = self.configured().get("large_segment_size_mb")
        except UnreadableError:
            return DEFAULT_SEGMENT
        return size * MIB if isinstance(size, int) else DEFAULT_SEGMENT


def _from_snapshot(settings: dict[str, object]) -> dict[str, object]:
    """Return what the snapshot says of keys that the last string need not hold, because the setter kept them."""
    found: dict[str, object] = {}
    for name in ("expandable_segments", "release_lock_on_cudamalloc", "pinned_use_cuda_host_register"):
        if isinstance(settings.get(name), bool):
            found[name] = settings[name]
    split = settings.get("max_split_size")
    if isinstance(split, int) and split > 0:
        found["max_split_size_mb"] = split // MIB
    threshold = settings.get("garbage_collection_threshold")
    if isinstance(threshold, float) and threshold > 0:
        found["garbage_collection_threshold"] = threshold
    return found
