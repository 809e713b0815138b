"""The device itself, asked through ctypes in fresh interpreters: totals, order, names, NVML, sharing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpumem_simgpu import SimulatedGpus

GIB = 1 << 30
OUT_OF_MEMORY = 2
NO_DEVICE = 100
HOLD = str(Path(__file__).parent / "programs" / "hold.py")


def describe(run_program: Any, gpus: SimulatedGpus, **env: str) -> Any:
    return json.loads(run_program("describe.py", gpus=gpus, **env).stdout)


def test_the_device_is_full_at_exactly_its_total(run_program: Any) -> None:
    run = run_program("fill.py")

    assert json.loads(run.stdout) == [0, OUT_OF_MEMORY, 0]
    assert [(one.bytes, one.granted) for one in run.requests()] == [(16 * GIB, True), (1, False), (1, True)]
    assert [one.bytes for one in run.refused()] == [1]
    assert run.peak() == 16 * GIB
    assert run.requests(device=1) == ()


def test_each_device_has_its_own_size_and_name(run_program: Any) -> None:
    found = describe(run_program, SimulatedGpus("8GiB,16GiB", names=("NVIDIA A", "NVIDIA B")))

    assert [(one["name"], one["total"]) for one in found["cuda"]] == [("NVIDIA A", 8 * GIB), ("NVIDIA B", 16 * GIB)]
    assert [one["name"] for one in found["nvml"]["devices"]] == ["NVIDIA A", "NVIDIA B"]


def test_nvml_may_know_more_memory_than_cuda(run_program: Any) -> None:
    found = describe(run_program, SimulatedGpus("15GiB,15GiB", nvml_total="2x16GiB", context="1GiB"))

    first, second = found["nvml"]["devices"]
    assert [one["total"] for one in found["cuda"]] == [15 * GIB, 15 * GIB]
    assert (first["total"], first["used"], first["free"]) == (16 * GIB, 2 * GIB, 14 * GIB)
    assert (first["reserved"], first["used_v2"]) == (1 * GIB, 1 * GIB)
    assert (second["total"], second["used"], second["used_v2"]) == (16 * GIB, 1 * GIB, 0)


def test_a_context_takes_memory_once(run_program: Any) -> None:
    run = run_program("hold.py", "15", gpus=SimulatedGpus("1x16GiB", context="512MiB"))

    assert run.stdout == "0 0\n"
    assert run.peak() == 15 * GIB + GIB // 2
    assert run.peak(library=run.requests()[0].library) == 15 * GIB


@pytest.mark.parametrize(
    ("env", "totals"),
    [
        pytest.param({}, [16, 8], id="fastest first"),
        pytest.param({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, [8, 16], id="bus order"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "0"}, [16], id="numbers follow the order"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "1,0"}, [8, 16], id="numbers reverse it"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, [8], id="bus numbers"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "1,-1,0"}, [8], id="nothing after a bad number"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "GPU-a0"}, [8], id="a UUID is a device whatever the order"),
    ],
)
def test_cuda_orders_the_devices_and_nvml_does_not(run_program: Any, env: dict[str, str], totals: list[int]) -> None:
    found = describe(run_program, SimulatedGpus("8GiB,16GiB", order=(1, 0)), **env)

    assert [one["total"] // GIB for one in found["cuda"]] == totals
    assert [one["total"] // GIB for one in found["nvml"]["devices"]] == [8, 16]


@pytest.mark.parametrize(
    ("visible", "buses"),
    [
        pytest.param("GPU-a1", ["0000:02:00.0"], id="short prefix"),
        pytest.param("GPU-a1515151-5151", ["0000:02:00.0"], id="longer prefix"),
        pytest.param("GPU-a2,GPU-a0", ["0000:03:00.0", "0000:01:00.0"], id="two of them"),
        pytest.param("GPU-a", [], id="a prefix of several names none"),
        pytest.param("GPU-b1", [], id="a prefix of none"),
        pytest.param("GPU-a1ffffff", [], id="only the beginning fits"),
    ],
)
def test_a_uuid_is_given_by_any_prefix_that_names_one(run_program: Any, visible: str, buses: list[str]) -> None:
    found = describe(run_program, SimulatedGpus("3x4GiB"), CUDA_VISIBLE_DEVICES=visible)

    assert [one["bus"] for one in found["cuda"]] == buses
    assert found["started"] == (0 if buses else NO_DEVICE)


def test_cuda_and_nvml_agree_on_uuids(run_program: Any) -> None:
    found = describe(run_program, SimulatedGpus("2x4GiB"))

    of_nvml = [one["uuid"].removeprefix("GPU-").replace("-", "") for one in found["nvml"]["devices"]]
    assert of_nvml == [one["uuid"] for one in found["cuda"]]


def test_nvml_can_be_missing(run_program: Any) -> None:
    found = describe(run_program, SimulatedGpus("1x4GiB", nvml="missing"))

    assert found["nvml"] == {"started": 12, "devices": []}
    assert found["cuda"][0]["total"] == 4 * GIB


def test_nvml_can_keep_memory_to_itself(run_program: Any) -> None:
    found = describe(run_program, SimulatedGpus("1x4GiB", nvml="unsupported"))

    assert (found["nvml"]["started"], found["nvml"]["devices"][0]["answer"]) == (0, 3)


def test_a_child_finds_what_its_parent_took(run_program: Any) -> None:
    run = run_program("with_child.py")

    assert run.stdout == "2 6\n"
    assert len({one.pid for one in run.requests()}) == 2
    assert run.peak() == 10 * GIB


def test_separate_programs_share_a_state_and_the_dead_give_back(run_program: Any, tmp_path: Path) -> None:
    gpus = SimulatedGpus("1x16GiB", shared_state=tmp_path / "state")
    holder = subprocess.Popen(
        [sys.executable, HOLD, "12"],
        env=gpus.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "0 4\n"
        beside = run_program("hold.py", "8", gpus=gpus)
        holder.send_signal(signal.SIGKILL)
    after = run_program("hold.py", "8", gpus=gpus)

    assert beside.stdout == f"{OUT_OF_MEMORY} 4\n"
    assert [one.bytes for one in beside.refused()] == [8 * GIB]
    assert after.stdout == "0 8\n"
