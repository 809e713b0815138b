"""`gpumem simulate`: the program keeps its own input, outputs and exit code; what it asked is told beside them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gpumem_simgpu import SimulatedRun
from gpumem_tools.simulate.observed import observe
from gpumem_tools.simulate.page_of_run import run_page
from gpumem_tools.simulate.show import sizes
from gpumem_tools.simulated import simulator

MIB, GIB = 1 << 20, 1 << 30
ALLOCATES = Path(__file__).parent / "programs" / "allocate_by_ctypes.py"


def line(t: float, api: str, pid: int = 7, **more: Any) -> dict[str, Any]:
    """Return a line of a device's log."""
    return {"t": t, "pid": pid, "api": api, "dev": 0, "phys": 0, "rc": 0, **more}


LOG = (
    line(5.0, "process started", ppid=1, program="python train.py"),
    line(5.0, "context", bytes=300 * MIB, id=1),
    line(5.5, "cuMemAlloc", bytes=4 * GIB, id=2, lib="/x/libalpha.so"),
    line(6.0, "cuMemAlloc", bytes=20 * GIB, id=0, lib="/x/libalpha.so", rc=2),
    line(6.5, "cuMemAlloc", bytes=GIB, id=3, lib="/x/libbeta.so"),
    line(7.0, "cuMemFree", id=2),
    line(8.0, "cuMemAlloc", pid=8, bytes=2 * GIB, id=4, lib="/x/libalpha.so"),
)


def observed(code: int = 0) -> Any:
    """Return what is shown of the log above."""
    return observe(["python", "train.py"], code, SimulatedRun(code, "", "", LOG), simulator("16GiB,8GiB"))


def test_each_process_and_library_has_a_row() -> None:
    """Requests, the first, the peak and every refused size; a context is no request."""
    device = observed().devices[0]
    assert [(use.pid, use.library, use.requests, use.first, use.peak, use.refused) for use in device.uses] == [
        (7, "context", 0, 300 * MIB, 300 * MIB, ()),
        (7, "libalpha.so", 2, 4 * GIB, 4 * GIB, (20 * GIB,)),
        (7, "libbeta.so", 1, GIB, GIB, ()),
        (8, "libalpha.so", 1, 2 * GIB, 2 * GIB, ()),
    ]
    assert device.peak == 5 * GIB + 300 * MIB
    assert observed().refused == 1
    assert not observed().devices[1].uses


def test_the_chart_has_a_series_for_each_and_marks_the_refusal() -> None:
    """Where two processes use a device, the series say whose they are."""
    history = observed().devices[0].history
    assert [one.label for one in history.series] == [
        "context in 7",
        "libalpha.so in 7",
        "libbeta.so in 7",
        "libalpha.so in 8",
    ]
    assert (history.seconds, history.refusals) == (3.0, (1.0,))


def test_json_has_a_schema_and_bytes() -> None:
    """It can be read without gpumem, and the held bytes are those of the chart."""
    data = json.loads(json.dumps(observed(3).to_dict()))
    assert (data["schema"], data["simulated"], data["returncode"], data["command"]) == (
        1,
        True,
        3,
        ["python", "train.py"],
    )
    assert data["processes"][0] == {"pid": 7, "parent": 1, "program": "python train.py"}
    assert data["devices"][0]["held"]["libbeta.so in 7"][1] == [1.5, GIB]


def test_the_page_shows_the_command_and_escapes_it() -> None:
    """What a program is called cannot write into the page."""
    run = SimulatedRun(0, "", "", LOG)
    page = run_page(observe(["python", "<b>.py"], 0, run, simulator("1x16GiB")))
    assert "<b>" not in page
    assert "1 request was refused." in page
    assert "python train.py" in page


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        ((), "-"),
        ((GIB,), "1 GiB"),
        ((GIB, GIB, MIB), "2 x 1 GiB, 1 MiB"),
        ((5, 4, 3, 2, 1), "5 bytes, 4 bytes, 3 bytes and 2 more"),
    ],
)
def test_refused_sizes_are_counted(refused: tuple[int, ...], said: str) -> None:
    """A framework asks for the same again and again: that is one entry."""
    assert sizes(refused) == said


def test_stdout_and_stdin_belong_to_the_program(gpumem):
    """Everything of ours stands on stderr, so the program can be part of a pipe."""
    ran = gpumem("simulate", "--", "cat", stdin="from the pipe\n")
    assert (ran.code, ran.out) == (0, "from the pipe\n")
    assert "asked for no device memory" in ran.err


def test_a_program_that_allocates_is_told_with_chart_and_files(gpumem, tmp_path):
    """The table names the library; JSON and the page are written; `-` puts the JSON behind the program's own output."""
    words = ("--devices", "1x2GiB", "--html", "page.html", "--json", "-")
    ran = gpumem("simulate", *words, "--", sys.executable, str(ALLOCATES), "1024", "1536")
    first, _, rest = ran.out.partition("\n")
    assert (ran.code, first) == (0, "0 2"), ran.err
    (use,) = [use for use in json.loads(rest)["devices"][0]["uses"] if use["library"] != "context"]
    assert (use["requests"], use["first"], use["peak"], use["refused"]) == (2, GIB, GIB, [1536 * MIB])
    assert "2 GiB, at most 1 GiB held (50%)" in ran.err
    assert "1.5 GiB" in ran.err
    assert "\x1b" not in ran.err
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_a_fault_is_passed_on(gpumem):
    """The first request is refused, though there is room."""
    ran = gpumem("simulate", "--fault", "alloc=1", "--", sys.executable, str(ALLOCATES), "1", "1")
    assert ran.out == "2 0\n", ran.err


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -TERM $$"], 143),
        (["no-such-program-at-all"], 127),
        (["/"], 126),
    ],
)
def test_the_exit_code_is_the_programs_own(gpumem, command, code):
    """128 + n for a signal, 126 and 127 as a shell has them."""
    assert gpumem("simulate", "--", *command).code == code


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a program, such as gpumem simulate -- python train.py"),
        (("--devices", "2xt5", "--", "true"), '"t5" is neither a size nor a profile'),
        (("--fault", "alloc", "--", "true"), "kind=value"),
        (("--html", "no/such/folder.html", "--", "true"), "does not exist"),
        (("--json", "", "--", "true"), "name a file"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_runs_nothing(gpumem, words, said):
    """The message says what to write."""
    ran = gpumem("simulate", *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
