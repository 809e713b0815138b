"""python -m gpumem_simgpu."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpumem_simgpu.__main__ import main
from gpumem_simgpu.simulated_run import read_events

PROGRAMS = Path(__file__).parent / "programs"


def test_prepare_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prepare"]) == 0

    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines()] == [
        "interpreter",
        "device",
        "stand-ins",
        "CuPy",
        "ready",
    ]
    assert sys.executable in said


def test_prepare_names_an_interpreter_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prepare", "--python", "/nowhere/python"]) == 1
    assert "/nowhere/python was not found" in capsys.readouterr().err


def test_run_gives_the_programs_exit_code_and_its_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    program = [sys.executable, str(PROGRAMS / "fill.py")]

    assert main(["run", "--devices", "1x16GiB", "--log", str(log), "--", *program]) == 0
    assert capfd.readouterr().out == "[0, 2, 0]\n"
    assert [event["rc"] for event in read_events(log) if event["api"] == "cuMemAlloc"] == [0, 2, 0]


@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -9 $$", 137)])
def test_run_ends_as_the_program_ended(command: str, code: int) -> None:
    assert main(["run", "--", "/bin/sh", "-c", command]) == code


def test_run_without_a_program_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 2
    assert "say what to run" in capsys.readouterr().err
