"""What a program's environment gains, and that it loses nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpumem_simgpu import SimulatedGpus
from gpumem_simgpu.device import LIBRARIES


def test_search_paths_are_put_before_the_users() -> None:
    base = {"LD_PRELOAD": "/my/one.so:/my/two.so", "LD_LIBRARY_PATH": "/my/lib", "PYTHONPATH": "/my/modules"}

    found = SimulatedGpus().environment(base)

    preload = found["LD_PRELOAD"].split(" ")
    assert [Path(path).name for path in preload[:4]] == list(LIBRARIES)
    assert preload[4:] == ["/my/one.so", "/my/two.so"]
    assert found["LD_LIBRARY_PATH"].split(":")[-1] == "/my/lib"
    assert found["PYTHONPATH"].split(":")[-1] == "/my/modules"


def test_every_other_variable_is_kept() -> None:
    base = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "SIMGPU_CC": "9.0", "CUDA_VISIBLE_DEVICES": "1"}

    found = SimulatedGpus("1x8GiB").environment(base)

    assert base.items() <= found.items()
    assert (found["SIMGPU_DEVICES"], found["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"]) == ("8GiB", "1")


def test_a_simulation_inside_a_simulation_repeats_nothing() -> None:
    gpus = SimulatedGpus()

    once = gpus.environment({})

    assert gpus.environment(once) == once


def test_a_machine_inside_a_machine_is_its_own(tmp_path: Path) -> None:
    """Nothing that describes the outer devices, and neither their state nor their log, reaches the inner ones."""
    outer = SimulatedGpus("2xT4", shared_state=tmp_path / "state", faults="alloc=1").environment({}, tmp_path / "log")

    inner = SimulatedGpus("1x1GiB").environment({**outer, "SIMGPU_TRACE": "1", "MINE": "kept"})

    assert {name: value for name, value in inner.items() if name.startswith("SIMGPU_")} == {
        "SIMGPU_DEVICES": "1GiB",
        "SIMGPU_TRACE": "1",
    }
    assert inner["MINE"] == "kept"


def test_the_log_and_the_state_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program may be started in another folder."""
    monkeypatch.chdir(tmp_path)

    found = SimulatedGpus(shared_state="state").environment({}, log=Path("log"))

    assert (found["SIMGPU_STATE"], found["SIMGPU_LOG"]) == (str(tmp_path / "state"), str(tmp_path / "log"))


def test_two_runs_at_once_do_not_meet() -> None:
    """Each has a state and a log of its own, in a folder for this user alone."""
    show = (
        "import os; print(os.environ['SIMGPU_STATE'], os.environ['SIMGPU_LOG'], "
        "oct(os.stat(os.path.dirname(os.environ['SIMGPU_LOG'])).st_mode)[-3:])"
    )

    first, second = (SimulatedGpus().run([sys.executable, "-c", show]).stdout.split() for _ in range(2))

    assert not set(first[:2]) & set(second[:2])
    assert (first[2], second[2]) == ("700", "700")


def test_the_callers_variables_reach_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "outside")

    run = SimulatedGpus().run(["/bin/sh", "-c", "echo $MINE $YOURS"], env={"YOURS": "added"})

    assert run.stdout == "outside added\n"


def test_a_streamed_program_has_our_outputs(capfd: pytest.CaptureFixture[str]) -> None:
    """Its own are not kept."""
    run = SimulatedGpus().run(["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], stream=True)

    assert (run.returncode, run.stdout, run.stderr) == (3, "", "")
    assert capfd.readouterr() == ("out\n", "err\n")


@pytest.mark.parametrize("stream", [False, True])
def test_a_signal_is_a_negative_exit_code(stream: bool) -> None:
    """As the standard library has it."""
    assert SimulatedGpus().run(["/bin/sh", "-c", "kill -9 $$"], stream=stream).returncode == -9


@pytest.mark.parametrize("stream", [False, True])
def test_a_program_that_does_not_end_is_ended(stream: bool) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        SimulatedGpus().run(["/bin/sh", "-c", "sleep 60 & wait"], timeout=0.5, stream=stream)
