"""What a program's environment gains, and that it loses nothing."""

from __future__ import annotations

import subprocess
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
    assert (found["SIMGPU_DEVICES"], found["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"]) == ("1x8GiB", "1")


def test_a_simulation_inside_a_simulation_repeats_nothing() -> None:
    gpus = SimulatedGpus()

    once = gpus.environment({})

    assert gpus.environment(once) == once


def test_every_field_has_its_variable(tmp_path: Path) -> None:
    gpus = SimulatedGpus(
        "8GiB,16GiB",
        nvml_total="9GiB,17GiB",
        context="300MiB",
        order=(1, 0),
        names=("A", "B"),
        shared_state=tmp_path / "state",
        nvml="missing",
    )

    found = gpus.environment({}, log=tmp_path / "log")

    assert {name: value for name, value in found.items() if name.startswith("SIMGPU_")} == {
        "SIMGPU_DEVICES": "8GiB,16GiB",
        "SIMGPU_NVML_TOTAL": "9GiB,17GiB",
        "SIMGPU_CONTEXT": "300MiB",
        "SIMGPU_FASTEST_FIRST": "1,0",
        "SIMGPU_NAMES": "A,B",
        "SIMGPU_STATE": str(tmp_path / "state"),
        "SIMGPU_NVML": "missing",
        "SIMGPU_LOG": str(tmp_path / "log"),
    }


def test_the_callers_variables_reach_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "outside")

    run = SimulatedGpus().run(["/bin/sh", "-c", "echo $MINE $YOURS"], env={"YOURS": "added"})

    assert run.stdout == "outside added\n"


def test_a_program_that_does_not_end_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        SimulatedGpus().run(["/bin/sh", "-c", "sleep 60 & wait"], timeout=0.5)
