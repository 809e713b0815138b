"""python -m gpumem_simgpu."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpumem_simgpu import profiles
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


def test_run_takes_profiles_and_faults(capfd: pytest.CaptureFixture[str]) -> None:
    """What the devices are is told to the program."""
    show = "import os; print(*(os.environ[f'SIMGPU_{name}'] for name in ('NAMES', 'FAULTS', 'NVML', 'GRANULARITY')))"
    options = ["--devices", "T4", "--fault", "alloc=3", "--fault", "slow=1", "--nvml", "no-sizes", "--granularity", "1"]

    assert main(["run", *options, "--", sys.executable, "-c", show]) == 0
    assert capfd.readouterr().out == "Tesla T4 alloc=3,slow=1 no-sizes 1\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--devices", "2x16"], 'did you mean "16GiB"'),
        (["--fault", "aloc=3"], "did you mean alloc?"),
    ],
)
def test_what_cannot_be_is_one_sentence(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is run."""
    assert main(["run", *options, "--", "/bin/false"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("gpumem_simgpu: ")
    assert said in error


def test_a_program_that_is_not_there_ends_as_in_a_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """127 for what is missing, 126 for what cannot be started."""
    (tmp_path / "text").write_text("no program")

    assert main(["run", "--", "/nowhere/program"]) == 127
    assert main(["run", "--", str(tmp_path / "text")]) == 126
    assert "/nowhere/program cannot be run: No such file or directory" in capsys.readouterr().err


def test_profiles_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each, with its memory."""
    assert main(["profiles"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [profile.name for profile in profiles()]
    assert any(line.split()[:3] == ["t4", "14.56", "GiB"] for line in lines)
