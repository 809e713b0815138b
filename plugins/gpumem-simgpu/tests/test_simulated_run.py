"""Reading the log: who holds how much, and when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpumem_simgpu import MemoryUse, Request, SimulatedLog, SimulatedProcess, SimulatedRun, SimulationError
from gpumem_simgpu.log_file import read_events

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


def test_a_process_narrows_every_answer() -> None:
    """Two processes on one device are told apart."""
    run = held_by(ask(1, 5), ask(1, 7, pid=2), ask(2, 9, pid=2, rc=2))

    assert (run.peak(), run.peak(pid=1), run.peak(pid=2)) == (12, 5, 7)
    assert [one.bytes for one in run.requests(pid=2)] == [7, 9]
    assert [one.bytes for one in run.refused(library="torch", pid=2)] == [9]
    assert run.first_request(pid=3) is None


def test_use_has_a_row_for_each_device_process_and_library() -> None:
    """Devices in bus order; contexts and the fault's process are rows of their own."""
    context = {"api": "context", "pid": 1, "dev": 0, "phys": 1, "bytes": 2, "rc": 0}
    other = {"api": "other process", "pid": 1, "dev": 0, "phys": 1, "bytes": 8, "rc": 0}
    run = held_by(
        context,
        ask(1, 5, phys=1),
        ask(2, 3, phys=1),
        give(1),
        ask(0, 9, phys=1, rc=2),
        ask(3, 4, CUPY, pid=2, phys=0),
        other,
    )

    assert run.use() == (
        MemoryUse(0, 0, 2, "cupy", requests=1, requested=4, first=4, peak=4, refused=0, refused_bytes=0),
        MemoryUse(0, 1, 1, "context", requests=1, requested=2, first=2, peak=2, refused=0, refused_bytes=0),
        MemoryUse(0, 1, 1, "torch", requests=3, requested=17, first=5, peak=8, refused=1, refused_bytes=9),
        MemoryUse(0, 1, 4194303, "other process", requests=1, requested=8, first=8, peak=8, refused=0, refused_bytes=0),
    )
    assert [one.library for one in run.requests()] == ["torch", "torch", "torch", "cupy"]


def test_contexts_that_cost_nothing_are_no_use() -> None:
    """They are in the log all the same."""
    run = held_by({"api": "context", "pid": 1, "dev": 0, "bytes": 0, "rc": 0}, ask(1, 5))

    assert [one.library for one in run.use()] == ["torch"]


def test_the_process_of_a_fault_is_nobody_else() -> None:
    """Its line is written by the process before whose request it took memory; it ends by its own number."""
    other = {"api": "other process", "pid": 1, "dev": 0, "bytes": 8, "rc": 0}
    ended = {"api": "process ended", "pid": 1, "gone": 4194303, "rc": 0}
    run = held_by(other, ask(1, 5), ended)

    assert (run.peak(), run.peak(pid=1), run.peak(pid=4194303)) == (13, 5, 8)
    assert run.timeline(0)[-1][1] == 5
    assert [one.pid for one in run.processes] == [1]


def test_contexts_are_given_back_one_by_one() -> None:
    """By their identity where the log tells it, else the newest of the device first."""
    made = {"api": "context", "pid": 1, "dev": 0, "bytes": 2, "rc": 0}
    destroyed = {"api": "context destroyed", "pid": 1, "dev": 0, "rc": 0}

    known = held_by({**made, "id": 7}, {**made, "id": 8, "bytes": 5}, {**destroyed, "id": 7}, {**made, "id": 9})
    unknown = held_by(made, {**made, "bytes": 5}, destroyed, made)

    assert known.timeline(0)[-1][1] == 7
    assert unknown.timeline(0)[-1][1] == 4


def test_the_timeline_is_what_all_held_after_each_change() -> None:
    """By bus number; seconds count from the first line of the log, and the last line ends it."""
    run = held_by(
        {"api": "process started", "pid": 1, "ppid": 9, "program": "python train.py", "t": 10.0},
        ask(1, 5, phys=1, t=11.0),
        ask(1, 4, CUPY, pid=2, phys=1, t=11.5),
        give(1) | {"t": 12.0},
        {"api": "cuCtxSynchronize", "pid": 1, "t": 14.0, "rc": 0},
    )

    assert run.timeline(1) == ((0.0, 0), (1.0, 5), (1.5, 9), (2.0, 4), (4.0, 4))
    assert run.timeline(1, library="torch") == ((0.0, 0), (1.0, 5), (2.0, 0), (4.0, 0))
    assert run.timeline(1, pid=2) == ((0.0, 0), (1.5, 4), (4.0, 4))
    assert run.timeline(0) == ((0.0, 0), (4.0, 0))
    assert max(held for _, held in run.timeline(1)) == run.peak()
    assert held_by().timeline(0) == ()


def test_time_never_runs_back() -> None:
    """Lines of two processes may be written in another order than they were timed."""
    run = held_by(ask(1, 5, t=2.0), ask(2, 5, t=1.9), ask(3, 5, t=2.5))

    assert [seconds for seconds, _ in run.timeline(0)] == [0.0, 0.0, 0.0, 0.5]


def test_processes_are_named_with_what_they_used() -> None:
    """In the order in which they appear; one whose first line is missing is there all the same."""
    run = held_by(
        {"api": "process started", "pid": 1, "ppid": 9, "program": "python train.py"},
        ask(1, 5),
        ask(2, 5, CUPY),
        ask(3, 5),
        ask(1, 4, pid=2),
        {"api": "process ended", "pid": 1, "gone": 2, "rc": 0},
    )

    assert run.processes == (
        SimulatedProcess(1, 9, "python train.py", ("torch", "cupy")),
        SimulatedProcess(2, None, "", ("torch",)),
    )


def test_a_number_that_is_used_again_begins_with_nothing() -> None:
    """A new process of the same number, or a program that replaced another, does not hold what that had."""
    started = {"api": "process started", "pid": 1, "ppid": 9, "program": "x"}
    run = held_by(started, ask(1, 5), started, ask(1, 4))

    assert run.peak() == 5
    assert run.timeline(0)[-1][1] == 4


def write(log: Path, *events: dict[str, Any], end: str = "\n") -> Path:
    log.write_text("\n".join(json.dumps(event) for event in events) + end)
    return log


@pytest.mark.parametrize("cut", ['{"t": 1, "pi', "{", '{"t": 1}'])
def test_a_last_line_that_was_cut_is_left_out(tmp_path: Path, cut: str) -> None:
    """The program was killed while it wrote."""
    log = write(tmp_path / "log", ask(1, 5), end="\n" + cut)

    assert [one.bytes for one in SimulatedRun.from_log(log).requests()] == [5]


def test_any_other_line_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """It names the file and the line: what follows from the rest would be wrong."""
    log = tmp_path / "log"
    log.write_text(json.dumps(ask(1, 5)) + '\n{"api\n' + json.dumps(give(1)) + "\n")

    with pytest.raises(SimulationError, match=r"log:2: this line of the log is no JSON object"):
        SimulatedRun.from_log(log)


def test_a_log_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Unlike a program's that never touched the devices."""
    with pytest.raises(SimulationError, match="there is no log"):
        SimulatedRun.from_log(tmp_path / "log")


def test_names_of_files_may_hold_anything(tmp_path: Path) -> None:
    """What Unicode takes for the end of a line, and bytes that are no text."""
    line = json.dumps(ask(1, 5, lib="/a\u2028b/libx.so"), ensure_ascii=False).encode()
    (tmp_path / "log").write_bytes(line + b"\n" + line.replace(b"libx", b"lib\xff") + b"\n")

    assert [one.library for one in SimulatedRun.from_log(tmp_path / "log").requests()] == ["libx.so", "lib\ufffd.so"]


def test_a_long_log_is_played_back_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of thousands of lines: each answer after the first comes from what was worked out."""
    events = [event for number in range(100_000) for event in (ask(number, 5), give(number))]
    run = SimulatedRun.from_log(write(tmp_path / "log", *events))
    assert (run.peak(), len(run.requests()), run.use()[0].requests) == (5, 100_000, 100_000)

    monkeypatch.setattr("gpumem_simgpu.memory_log.replay", None)
    assert (run.peak(), len(run.timeline(0)), run.peak(library="torch")) == (5, 200_001, 5)


def test_a_log_that_grows_is_read_again(tmp_path: Path) -> None:
    """What a running program has asked so far."""
    log = SimulatedLog(tmp_path / "log")
    assert (log.peak(), log.use(), log.events) == (0, (), ())

    write(tmp_path / "log", ask(1, 5))
    assert log.peak() == 5
    write(tmp_path / "log", ask(1, 5), ask(2, 7))
    assert log.peak() == 12
