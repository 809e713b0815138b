"""The log is complete: who started, what was granted and given back, what was not simulated, what was a fault."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

MIB = 1 << 20
NOT_SUPPORTED = 801
CALL_ALL = str(Path(__file__).parent / "call_all.py")


def changes(events: Any) -> list[tuple[str, int]]:
    """Return each line that changes what a device holds, as its call and the bytes more or less."""
    found = []
    for event in events:
        change = event.get("charged", 0) - event.get("freed", 0)
        if event["rc"] == 0 and change:
            found.append((event["api"], change // MIB))
    return found


def test_a_process_says_who_it_is(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """Its first line names it, its parent and its program; a forked child that does something has one of its own."""
    case = find_case("fork-child_before_init")

    events = builds.run(case, tmp_path).events

    first: dict[int, Any] = {}
    for event in events:
        first.setdefault(event["pid"], event)
    assert [event["api"] for event in first.values()] == ["process started"] * 2
    child, parent = (first[pid] for pid in sorted(first, reverse=True))
    assert child["ppid"] == parent["pid"]
    assert parent["program"] == f"{builds.program(case)} child_before_init"
    assert [event["gone"] for event in events if event["api"] == "process ended"] == [child["pid"], parent["pid"]]


def test_a_long_command_line_is_cut(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """Two hundred characters are enough to know a program by, whatever its arguments are."""
    case = find_case("threads-mappings")
    words = [f'"\\\t{"ü" * 30}'] * 20
    done = subprocess.run(
        ["bash", "-c", 'exec -a "$1" "$2" mappings', "bash", " ".join(words), builds.program(case)],
        env=case.variables(tmp_path),
        check=False,
    )

    assert done.returncode == 0
    started = json.loads((tmp_path / "log").read_text().splitlines()[0])
    assert started["program"] == " ".join(words)[:200]


def test_charges_and_returns_are_told_with_their_call(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """Packing shows: the request that opens a piece is charged, the free that empties it gives back."""
    events = builds.run(find_case("granularity-packed_when_full"), tmp_path).events

    assert changes(events) == [
        ("cuMemAlloc", 2),
        ("cuMemAlloc", 6),
        ("cuMemFree", -2),
        ("cuMemFree", -6),
    ]
    asked = [event for event in events if event["api"] == "cuMemAlloc"]
    assert [(event["bytes"], event["rc"], event.get("charged")) for event in asked] == [
        (1024, 0, 2 * MIB),
        (6 * MIB, 0, 6 * MIB),
        (1024, 0, 0),
        (MIB + 1, 2, None),
    ]


def test_contexts_have_their_lines(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """A context is a line when it is made and one when it goes, after the frees of what was allocated in it."""
    events = builds.run(find_case("contexts-primary_reset"), tmp_path).events

    assert changes(events) == [
        ("context", 8),
        ("context", 8),
        ("cuMemAlloc", 16),
        ("cuMemFree", -16),
        ("context destroyed", -8),
        ("context destroyed", -8),
    ]
    ids = [event["id"] for event in events if event["api"] in ("context", "context destroyed")]
    assert ids == [ids[0], ids[1], ids[1], ids[0]]


def test_pools_have_their_lines(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """What a pool keeps is not given back before the line that says so."""
    events = builds.run(find_case("pools-trimmed"), tmp_path).events

    taken = [change for _, change in changes(events)]
    assert taken[:2] == [8, 8]
    assert sum(taken) == 0
    assert min(sum(taken[: n + 1]) for n in range(len(taken))) >= 0


@pytest.mark.parametrize(
    ("name", "notes"),
    [
        ("faults-one_refusal", ["fault: alloc=3"]),
        ("faults-refusals_onwards", ["fault: alloc=2+"] * 5),
        ("faults-init_fails", ["fault: init=802"] * 2),
        ("faults-several", ["fault: alloc=1", "fault: other=2MiB:2", "fault: alloc=3"]),
        ("faults-every_kind_counts", ["fault: alloc=4@0", "fault: alloc=1@1"]),
    ],
)
def test_faults_are_named(builds: Any, find_case: Any, tmp_path: Path, name: str, notes: list[str]) -> None:
    """A line that a fault caused says which."""
    events = builds.run(find_case(name), tmp_path).events

    assert [event["note"] for event in events if event.get("note", "").startswith("fault: ")] == notes


def test_the_other_process_is_in_the_log(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """What the fault's process takes has a line of its own before the request that it spoils."""
    events = builds.run(find_case("faults-other_process_takes_the_rest"), tmp_path).events

    apis = [(event["api"], event["bytes"], event["rc"]) for event in events if event.get("bytes")]
    assert apis[-3:-1] == [("other process", 44 * MIB, 0), ("cuMemAlloc", 1, 2)]


def test_a_lost_device_is_named(builds: Any, find_case: Any, tmp_path: Path) -> None:
    """The request that loses a device says so, and those after it are written down as well."""
    events = builds.run(find_case("faults-device_lost"), tmp_path).events

    failed = [event for event in events if event["rc"] and event["api"].startswith("cuMemAlloc")]
    assert failed[0]["note"] == "fault: lost=2@0"
    assert len(failed) == 3
    assert len({event["rc"] for event in failed}) == 1


def test_every_call_that_is_not_simulated_leaves_a_line(builds: Any, tmp_path: Path) -> None:
    """Each of them answers 801 and is in the log by its name, in the driver and in both runtimes."""
    log = tmp_path / "log"
    libraries = [builds.libraries / name for name in ("libcuda.so.1", "libcudart.so.12", "libcudart.so.13")]
    sources = builds.libraries / "objects"
    wanted = {
        "libcuda.so.1": stubs(sources / "driver_stubs.c"),
        "libcudart.so.12": stubs(sources / "runtime_stubs12.c"),
        "libcudart.so.13": stubs(sources / "runtime_stubs13.c"),
    }
    for library in libraries:
        names = wanted[library.name]
        assert len(names) > 50
        subprocess.run(
            [sys.executable, CALL_ALL, str(library), str(NOT_SUPPORTED)],
            input="\n".join(names),
            env={"SIMGPU_DEVICES": "1x64MiB", "SIMGPU_LOG": str(log)},
            text=True,
            check=True,
        )
        events = [json.loads(line) for line in log.read_text().splitlines()]
        said = Counter(event["api"] for event in events if event["rc"] == NOT_SUPPORTED)
        assert said == Counter(names)
        log.unlink()


def stubs(source: Path) -> list[str]:
    """Return the names of the entry points that nobody wrote by hand."""
    return re.findall(rf'sim_stub\("(\w+)", {NOT_SUPPORTED}\)', source.read_text())


def test_lines_of_many_processes_never_mix(builds: Any, find_case: Any, tmp_path: Path, account: Any) -> None:
    """Sixteen processes write one log: every line is whole, and together they account for every byte."""
    done = builds.run(find_case("processes-share_pieces"), tmp_path)

    assert done.returncode == 0, done.stderr
    assert len({event["pid"] for event in done.events if event["api"] == "context"}) == 16 + 1
    assert len([event for event in done.events if "charged" in event]) > 16 * 20
    assert account({0: 40 * MIB}).play(done.events).of(0) == 0


def test_a_replay_agrees_with_what_cuda_says(builds: Any, find_case: Any, tmp_path: Path, account: Any) -> None:
    """The last line of a thread's work says what the replay of all lines comes to."""
    done = builds.run(find_case("threads-charged_in_pieces"), tmp_path)

    assert done.returncode == 0, done.stderr
    lines = [event for event in done.events if event["api"] != "process ended"]
    assert account({0: 96 * MIB}).play(lines).of(0) == MIB
    refused = [event for event in done.events if event["rc"] == 2]
    assert refused
    assert max(event["device_used"] for event in done.events if "device_used" in event) <= 96 * MIB
