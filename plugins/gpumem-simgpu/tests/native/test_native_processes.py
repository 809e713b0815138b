"""Processes that are started and killed from outside, and machines that are described wrongly."""

from __future__ import annotations

import contextlib
import json
import signal
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MIB = 1 << 20


@contextlib.contextmanager
def holding(builds: Any, find_case: Any, folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run a process that holds 20 MiB of the device that ``folder`` shares."""
    case = find_case("processes-holds_until_told")
    process = subprocess.Popen(
        [str(builds.program(case)), case.name],
        env={**case.variables(folder), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def start_time(pid: int) -> int:
    """Return when a process started, in clock ticks after boot: field 22 of /proc/PID/stat."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def test_memory_of_a_killed_process_comes_back(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """The next program finds nothing taken, and the log says that the process ended before anything else."""
    with holding(builds, find_case, tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = builds.run(find_case("processes-finds_nothing_taken"), tmp_path)

    assert done.returncode == 0, done.stderr
    assert next(event["gone"] for event in done.events if event["api"] == "process ended") == process.pid


def test_a_number_that_is_used_again_is_another_process(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """A process is known by its number and its start, so whoever gets a dead one's number does not keep its memory.

    No test can ask for a number, so the start that the shared state remembers is changed instead: then the process
    that lives under the number is not the one that took the memory.
    """
    with holding(builds, find_case, tmp_path) as process:
        state = tmp_path / "state"
        remembered = struct.pack("<Q", start_time(process.pid))
        content = state.read_bytes()
        assert content.count(remembered) == 1
        with state.open("r+b") as file:
            file.seek(content.index(remembered))
            file.write(struct.pack("<Q", 1))
        done = builds.run(find_case("processes-finds_nothing_taken"), tmp_path)

    assert done.returncode == 0, done.stderr
    assert process.pid in [event.get("gone") for event in done.events]


def test_a_living_process_keeps_its_memory(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """The counter-example to the two above."""
    with holding(builds, find_case, tmp_path):
        done = builds.run(find_case("processes-finds_nothing_taken"), tmp_path)

    assert done.returncode == 1
    assert f"is {20 * MIB}, expected 0" in done.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SIMGPU_DEVICES", "sixteen"),
        ("SIMGPU_DEVICES", "16GB"),
        ("SIMGPU_DEVICES", "0"),
        ("SIMGPU_DEVICES", "-1GiB"),
        ("SIMGPU_DEVICES", "2x"),
        ("SIMGPU_DEVICES", "0x16GiB"),
        ("SIMGPU_DEVICES", "17x1GiB"),
        ("SIMGPU_DEVICES", "16GiB,"),
        ("SIMGPU_DEVICES", "16GiB;8GiB"),
        ("SIMGPU_DEVICES", "infGiB"),
        ("SIMGPU_DEVICES", "nan"),
        ("SIMGPU_DEVICES", "99999999999TiB"),
        ("SIMGPU_DEVICES", "1" * 300),
        ("SIMGPU_NVML_TOTAL", "1GiB,2GiB,3GiB"),
        ("SIMGPU_CONTEXT", "much"),
        ("SIMGPU_GRANULARITY", "0"),
        ("SIMGPU_GRANULARITY", "2MiB,4MiB,8MiB"),
        ("SIMGPU_CC", "eight"),
        ("SIMGPU_CC", "8"),
        ("SIMGPU_SMS", "0"),
        ("SIMGPU_POOLS", "maybe"),
        ("SIMGPU_VMM", "yes,no,yes"),
        ("SIMGPU_MANAGED", "1"),
        ("SIMGPU_INTEGRATED", "YES"),
        ("SIMGPU_MIG", "1g.5gb"),
        ("SIMGPU_MIG", "5:1g.5gb,5:1g.5gb"),
        ("SIMGPU_FASTEST_FIRST", "9"),
        ("SIMGPU_FASTEST_FIRST", "0,0"),
        ("SIMGPU_DRIVER_VERSION", "thirteen"),
        ("SIMGPU_NVML", "broken"),
        ("SIMGPU_FAULTS", "alloc"),
        ("SIMGPU_FAULTS", "alloc=0"),
        ("SIMGPU_FAULTS", "alloc=-1"),
        ("SIMGPU_FAULTS", "alloc=1@7"),
        ("SIMGPU_FAULTS", "alloc=3@"),
        ("SIMGPU_FAULTS", "other=2GiB"),
        ("SIMGPU_FAULTS", "other=:3"),
        ("SIMGPU_FAULTS", "lost=1+"),
        ("SIMGPU_FAULTS", "slow=fast"),
        ("SIMGPU_FAULTS", "explode=1"),
        ("SIMGPU_TRACE", "loud"),
        ("SIMGPU_LOG", "/no/such/folder/log"),
        ("SIMGPU_STATE", "/no/such/folder/state"),
    ],
)
def test_a_value_that_cannot_be_read_ends_the_process(
    builds: Any, find_case: Any, tmp_path: Path, variable: str, value: str
) -> None:
    """One line names the variable and the value; nothing runs on a machine that nobody described."""
    case = find_case("processes-finds_nothing_taken")

    done = builds.run(case, tmp_path, **{variable: value})

    assert done.returncode == -signal.SIGABRT
    (line,) = done.stderr.splitlines()
    assert f"{variable}=" in line
    # Of a list the value that is wrong is enough.
    assert any(part and part in line for part in (value, *value.split(",")))


def test_a_state_of_something_else_is_left_alone(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """A file that no simulated device made is not written to."""
    (tmp_path / "state").write_text("somebody's thesis\n")

    done = builds.run(find_case("processes-finds_nothing_taken"), tmp_path)

    assert done.returncode == -signal.SIGABRT
    assert "SIMGPU_STATE" in done.stderr
    assert (tmp_path / "state").read_text() == "somebody's thesis\n"


def test_a_full_disk_changes_nothing(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """A log that cannot be written to is a pity, not a failure of the program that is tested."""
    done = builds.run(find_case("threads-charged_in_pieces"), tmp_path, SIMGPU_LOG="/dev/full")

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_names_that_are_no_text_leave_a_log_that_is(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """Files and arguments may have any bytes; the log is JSON all the same."""
    case = find_case("threads-mappings")
    folder = tmp_path / "f\udcffolder"
    folder.mkdir()
    program = folder / 'pro"gram\n'
    program.symlink_to(builds.program(case))

    subprocess.run([program, "mappings"], env=case.variables(tmp_path), check=True)

    events = [json.loads(line) for line in (tmp_path / "log").read_bytes().split(b"\n") if line]
    assert "f\ufffdolder" in events[0]["program"]
    assert any('pro"gram\n' in event.get("lib", "") for event in events)


def test_more_processes_than_there_is_room_for(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """The state holds 128 processes; the next is refused a context as by a full device, and comes in later."""
    with contextlib.ExitStack() as stack:
        for _ in range(128):
            stack.enter_context(holding(builds, find_case, tmp_path, SIMGPU_DEVICES="16GiB"))
        one_too_many = builds.run(find_case("processes-finds_nothing_taken"), tmp_path, SIMGPU_DEVICES="16GiB")
    after = builds.run(find_case("processes-finds_nothing_taken"), tmp_path, SIMGPU_DEVICES="16GiB")

    assert "cuDevicePrimaryCtxRetain(&context, device) is 2" in one_too_many.stderr
    assert after.returncode == 0, after.stderr
