"""Reading the log: who holds how much, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpumem_simgpu import Request, SimulatedRun
from gpumem_simgpu.simulated_run import read_events

TORCH = "/env/torch/lib/libc10_cuda.so"
CUPY = "/env/cupy_backends/cuda/api/runtime.so"


def ask(number: int, size: int, lib: str = TORCH, **more: Any) -> dict[str, Any]:
    return {"api": "cuMemAlloc", "pid": 1, "dev": 0, "id": number, "bytes": size, "lib": lib, "rc": 0, **more}


def give(number: int, lib: str = TORCH, pid: int = 1) -> dict[str, Any]:
    return {"api": "cuMemFree", "pid": pid, "dev": 0, "id": number, "lib": lib, "rc": 0}


def held_by(*events: dict[str, Any]) -> SimulatedRun:
    return SimulatedRun(0, "", "", events)


def test_the_peak_is_what_was_held_at_one_time() -> None:
    run = held_by(ask(1, 5), give(1), ask(2, 3), ask(3, 4))

    assert run.peak() == 7


def test_memory_belongs_to_who_asked_whoever_frees_it() -> None:
    run = held_by(ask(1, 5), ask(2, 2, CUPY), give(1, CUPY), ask(3, 4))

    assert (run.peak(), run.peak(library="torch"), run.peak(library="cupy")) == (7, 5, 2)


def test_a_refused_request_is_held_by_nobody() -> None:
    run = held_by(ask(1, 5), {**ask(0, 9), "rc": 2})

    assert run.peak() == 5
    assert run.refused() == (Request("cuMemAlloc", 9, False, 0, "torch", 1),)
    assert run.first_request() == Request("cuMemAlloc", 5, True, 0, "torch", 1)


def test_a_process_that_ends_gives_back_what_it_held() -> None:
    ended = {"api": "process ended", "pid": 2, "gone": 1, "rc": 0}
    run = held_by(ask(1, 5), ended, ask(1, 4, pid=2), give(1, pid=1))

    assert run.peak() == 5


def test_a_context_counts_for_the_device_and_for_no_library() -> None:
    context = {"api": "context", "pid": 1, "dev": 0, "bytes": 2, "lib": TORCH, "rc": 0}
    run = held_by(context, ask(1, 5))

    assert (run.peak(), run.peak(library="torch"), len(run.requests())) == (7, 5, 1)


def test_a_pool_counts_as_the_program_asked() -> None:
    run = held_by(ask(1, 5, api="cuMemAllocAsync"), {**give(1), "api": "cuMemFreeAsync"}, ask(2, 4))

    assert [one.api for one in run.requests()] == ["cuMemAllocAsync", "cuMemAlloc"]
    assert run.peak() == 5


def test_devices_are_apart() -> None:
    run = held_by(ask(1, 5), ask(2, 6, dev=1))

    assert (run.peak(0), run.peak(1), run.peak(2)) == (5, 6, 0)
    assert run.first_request(device=2) is None


def test_no_log_is_no_events(tmp_path: Path) -> None:
    assert read_events(tmp_path / "log") == ()
