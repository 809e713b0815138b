"""A module that behaves as PyTorch does towards the plugin, as far as runs on the simulated GPU have shown."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gpumem_torch.call_record import RECORD
from gpumem_torch.parse import read
from gpumem_torch.release import release_of

GIB = 1 << 30
MakeTorch = Callable[..., Any]


class FakeTorch(ModuleType):
    """PyTorch with a start that runs its queue, and an allocator that only counts."""

    def __init__(
        self,
        version: str = "2.14.1+cu130",
        totals: tuple[int, ...] = (16 * GIB, 16 * GIB),
        backend: str = "native",
        text: str = "",
        build: str | None = "13.0",
    ) -> None:
        super().__init__("torch")
        release = release_of(version)
        assert release is not None
        self.__version__ = version
        self.totals, self.text, self.release = totals, text, release
        self.allowed: dict[int, int] = {}
        self.reserved = dict.fromkeys(range(len(totals)), 0)
        self.started = False
        self.queue: list[Callable[[], None]] = []
        self.asked: list[str] = []
        self.caching = True
        self.refuse_ahead = False
        self.version = SimpleNamespace(cuda=build, hip=None)
        self._C = SimpleNamespace(
            _cuda_getAllocatorBackend=lambda: backend,
            _cuda_getDeviceCount=lambda: len(totals),
            _cuda_setMemoryFraction=self._set_fraction,
            _cuda_memoryStats=lambda device: {"reserved_bytes": {"all": {"current": self.reserved[device]}}},
            _cuda_memorySnapshot=self._snapshot,
        )
        if release >= (2, 6):
            self._C._cuda_getMemoryFraction = self._get_fraction
        if release >= (2, 9):
            self._C._accelerator_isAllocatorInitialized = lambda: self.started
        if release >= (2, 10):
            self._C._accelerator_setAllocatorSettings = self._set_text
            self._C._cuda_cudaCachingAllocator_is_enabled = lambda: self.caching
        else:
            self._C._cuda_cudaCachingAllocator_set_allocator_settings = self._set_text
        if release >= (2, 12):
            self._C._accelerator_getAllocatorSettings = lambda: self.text
        self.cuda = SimpleNamespace(
            is_initialized=lambda: self.started,
            _is_in_bad_fork=lambda: False,
            _lazy_call=self._lazy_call,
            init=self.start,
            device=self._device,
            get_device_properties=lambda device: SimpleNamespace(total_memory=totals[device]),
            mem_get_info=lambda device: (0, totals[device]),
            caching_allocator_alloc=self._alloc,
            caching_allocator_delete=lambda _pointer: None,
        )

    def start(self) -> None:
        """Start CUDA: run the queue, as `torch.cuda._lazy_init` does."""
        if not self.started:
            for call in self.queue:
                call()
            self.started = True

    def _lazy_call(self, call: Callable[[], None]) -> None:
        if self.started:
            call()
        else:
            self.queue.append(call)

    @contextlib.contextmanager
    def _device(self, device: int) -> Iterator[None]:
        self.asked.append(f"device {device}")
        yield

    def _set_fraction(self, fraction: float, device: int) -> None:
        product = fraction * self.totals[device]
        self.allowed[device] = round(product) if self.release >= (2, 10) else int(product)

    def _get_fraction(self, device: int) -> float:
        return self.allowed.get(device, self.totals[device]) / self.totals[device]

    def _snapshot(self, *arguments: object) -> dict[str, Any]:
        if arguments and self.release < (2, 7):
            raise TypeError("takes no arguments")
        if self._C._cuda_getAllocatorBackend() != "native":
            raise RuntimeError("Calling snapshot with backend:cudaMallocAsync is not meaningful.")
        values = read(self.text).values
        split = int(values.get("max_split_size_mb", -1))
        return {
            "allocator_settings": {
                "PYTORCH_CUDA_ALLOC_CONF": self.text,
                "expandable_segments": values.get("expandable_segments") == "True",
                "max_split_size": split << 20 if split > 0 else -1,
            }
        }

    def _set_text(self, text: str) -> None:
        if not read(text, self.release).usable:
            raise ValueError(f"Unrecognized: {text}")
        self.text = text

    def _alloc(self, size: int, device: int) -> int:
        allowed = self.allowed.get(device, self.totals[device])
        if self.refuse_ahead or self.reserved[device] + size > allowed:
            raise RuntimeError("CUDA out of memory.")
        self.reserved[device] += size
        return 1


@pytest.fixture
def make_torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeTorch]:
    """Return a function that makes a fake PyTorch and imports it."""

    def make(**arguments: Any) -> FakeTorch:
        torch = FakeTorch(**arguments)
        monkeypatch.setitem(sys.modules, "torch", torch)
        return torch

    RECORD.forget()
    yield make
    RECORD.forget()
