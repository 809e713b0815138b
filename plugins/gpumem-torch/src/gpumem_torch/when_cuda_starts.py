"""Doing something when PyTorch starts CUDA, or at once if it has: PyTorch's own queue of lazy calls.

`torch.cuda._lazy_call` runs a callable inside `torch.cuda._lazy_init`, after the driver is up and before the first
tensor. A callable that raises there leaves CUDA unusable for the rest of the process (`DeferredCudaCallError`), and
from 2.8 on one that queues another call waits for itself: so nothing is raised here, and nothing is queued.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpumem.plugin import Progress
from gpumem_torch.imported import Torch

UNTIL = "until PyTorch starts CUDA"


class AtCudaStart:
    """One action, carried out once.

    Args:
        torch: the imported module.
        action: what to do; it returns a sentence for the report.
        progress: where its outcome is told.
    """

    def __init__(self, torch: Torch, action: Callable[[], str], progress: Progress) -> None:
        """Queue nothing yet."""
        self._torch = torch
        self._action = action
        self._progress = progress
        self._once = threading.Lock()
        self._closed = False
        self.carried_out = False

    def arrange(self) -> None:
        """Carry the action out now if CUDA runs or is just starting in this thread, else queue it."""
        if self._is_starting_here():
            # PyTorch itself imports something while it starts, and gpumem may hear of PyTorch only then. It holds its
            # lock now, for which `_lazy_call` would wait; the driver is up, as it is for what stands in the queue.
            self._run()
            return
        if not self._torch.cuda_started:
            self._progress.pending(UNTIL)
            self._torch.module.cuda._lazy_call(self._run)
        # Another thread may have started CUDA between the question and the queue: then nobody runs the queue again.
        if self._torch.cuda_started:
            self._run()

    def _is_starting_here(self) -> bool:
        """Return whether this thread is inside of `_lazy_init` (torch/cuda/__init__.py: `_tls.is_initializing`)."""
        return hasattr(getattr(self._torch.module.cuda, "_tls", None), "is_initializing")

    def cancel(self) -> None:
        """Make sure that the action is not carried out any more."""
        with self._once:
            self._closed = True

    def _run(self) -> None:
        with self._once:
            if self._closed:
                return
            self._closed = True
        try:
            note = self._action()
        except Exception as error:  # noqa: BLE001 - raised here it would make CUDA unusable; it is reported instead
            self._progress.failed(error)
            return
        self.carried_out = True
        self._progress.done(note)
