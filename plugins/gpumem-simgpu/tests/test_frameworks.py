"""One touch of each real framework: it asks the simulated device, and the log says that it was this one."""

from __future__ import annotations

from typing import Any

import pytest

from gpumem_simgpu import Request

GIB = 1 << 30


@pytest.mark.simulated("jax", "jax_cuda12_plugin")
def test_jax_takes_its_fraction_at_the_first_touch(run_program: Any) -> None:
    run = run_program("touch_jax.py", XLA_PYTHON_CLIENT_MEM_FRACTION=".5")

    assert run.stdout == "gpu\n"
    assert [(one.bytes, one.granted, one.library) for one in run.requests()] == [(8 * GIB, True, "jax")]
    assert run.requests(device=1) == ()


@pytest.mark.simulated("tensorflow")
def test_tensorflow_takes_its_limit_at_once(run_program: Any) -> None:
    run = run_program("touch_tensorflow.py")

    assert "GPU:0" in run.stdout
    assert [(one.bytes, one.granted, one.library) for one in run.requests()] == [(4 * GIB, True, "tensorflow")]


@pytest.mark.simulated("torch")
@pytest.mark.parametrize(
    ("allocator", "api"),
    [("", "cuMemAlloc"), ("expandable_segments:True", "cuMemCreate"), ("backend:cudaMallocAsync", "cuMemAllocAsync")],
)
def test_torch_stays_under_its_cap(run_program: Any, allocator: str, api: str) -> None:
    run = run_program("touch_torch.py", PYTORCH_CUDA_ALLOC_CONF=allocator)

    assert run.stdout == "refused\n"
    assert 3 * GIB <= run.peak(library="torch") <= 4 * GIB
    assert {(one.api, one.library) for one in run.requests()} == {(api, "torch")}


@pytest.mark.simulated("cupy")
def test_cupy_asks_for_what_an_array_holds(run_program: Any) -> None:
    run = run_program("touch_cupy.py")

    asked = run.first_request(device=1)
    assert run.stdout == "2\n"
    assert asked == Request("cuMemAlloc", GIB, True, 1, "cupy", asked.pid)
    assert run.requests(device=0) == ()


@pytest.mark.simulated("jax", "jax_cuda12_plugin", "tensorflow", "torch", "cupy")
def test_all_four_share_a_device_and_are_told_apart(run_program: Any) -> None:
    run = run_program("touch_all.py")

    libraries = ("jax", "tensorflow", "torch", "cupy")
    assert run.stdout == "all\n"
    assert {one.library for one in run.requests()} == set(libraries)
    assert run.peak() == sum(run.peak(library=name) for name in libraries)
    assert run.refused() == ()
