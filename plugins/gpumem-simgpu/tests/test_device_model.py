"""The memory model and the faults as a Python program meets them; each case of them is in tests/native."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpumem_simgpu import SimulatedGpus, parse_fault
from gpumem_simgpu.device import LIBRARIES, build_device

MIB = 1 << 20
GIB = 1 << 30
NOT_INITIALIZED = 3
OUT_OF_MEMORY = 2
UNKNOWN = 999


def ask(run_program: Any, gpus: SimulatedGpus, *sizes: int) -> Any:
    return json.loads(run_program("ask_for.py", *map(str, sizes), gpus=gpus).stdout)


def test_large_requests_are_rounded_and_small_ones_share_a_piece(run_program: Any) -> None:
    """3 MiB take 4, and a byte and a whole MiB lie in one piece of 2 MiB."""
    assert ask(run_program, SimulatedGpus("1x1GiB"), 3 * MIB, 1, MIB) == [[0, 0, 0], (1024 - 6) * MIB]


def test_a_granularity_of_one_charges_exactly(run_program: Any) -> None:
    """Nothing is rounded."""
    gpus = SimulatedGpus("1x1GiB", granularity="1")

    assert ask(run_program, gpus, 3 * MIB, 1) == [[0, 0], GIB - 3 * MIB - 1]


def test_a_request_is_refused_on_demand(run_program: Any) -> None:
    """Only the second one, though there is room."""
    gpus = SimulatedGpus("1x1GiB", faults=(parse_fault("alloc=2"),))

    assert ask(run_program, gpus, MIB, MIB, MIB)[0] == [0, OUT_OF_MEMORY, 0]


def test_a_lost_device_stays_lost(run_program: Any) -> None:
    """The request that finds it lost and every later one fail."""
    gpus = SimulatedGpus("1x1GiB", faults=(parse_fault("lost=2"),))

    assert ask(run_program, gpus, MIB, MIB, MIB)[0] == [0, UNKNOWN, UNKNOWN]


def test_cuda_is_refused_in_a_forked_child_and_nvml_is_not(run_program: Any) -> None:
    """As the real driver does, once the parent has started CUDA; NVML still sees what the parent holds."""
    run = run_program("forked.py", gpus=SimulatedGpus("1x4GiB"))

    assert json.loads(run.stdout) == [NOT_INITIALIZED, NOT_INITIALIZED, GIB]


def test_the_device_is_built_without_a_warning(tmp_path: Path) -> None:
    """With all the warnings that the build asks for, as errors."""
    build_device(tmp_path / "device", flags=("-Werror",))

    assert {path.name for path in (tmp_path / "device").iterdir()} == {*LIBRARIES, "objects"}
