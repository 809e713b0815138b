"""Which library asked: the log names the first one above the simulated ones."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpumem_simgpu.device import device_folder
from gpumem_simgpu.libraries import library_name

SOURCE = Path(__file__).parent / "programs" / "caller.c"


@pytest.mark.parametrize(
    ("place", "library"),
    [
        pytest.param("libcaller.so", "libcaller.so", id="unknown"),
        pytest.param("torch/lib/libc10_cuda.so", "torch", id="torch"),
        pytest.param("jax_plugins/xla_cuda12/xla_cuda_plugin.so", "jax", id="jax"),
    ],
)
def test_the_log_names_the_library_that_called(run_program: Any, tmp_path: Path, place: str, library: str) -> None:
    built = tmp_path / place
    built.parent.mkdir(parents=True, exist_ok=True)
    ours = [str(device_folder() / name) for name in ("libcuda.so.1", "libcudart.so.12")]
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", str(SOURCE), "-o", str(built), *ours], check=True)

    run = run_program("call_library.py", str(built))

    assert run.stdout == "0 0\n"
    assert [(one.bytes, one.library) for one in run.requests()] == [(1 << 20, library), (2 << 20, library)]
    assert run.events[-2]["lib"] == str(built)
    assert run.peak(library=library) == 3 << 20


@pytest.mark.parametrize(
    ("path", "library"),
    [
        ("/env/site-packages/torch/lib/libtorch_cuda.so", "torch"),
        ("/env/site-packages/tensorflow/libtensorflow_cc.so.2", "tensorflow"),
        ("/env/site-packages/tensorflow/libtensorflow_framework.so.2", "tensorflow"),
        ("/env/site-packages/jax_plugins/xla_cuda12/xla_cuda_plugin.so", "jax"),
        ("/cache/cupy-tree-0/cupy_backends/cuda/api/runtime.cpython-312-x86_64-linux-gnu.so", "cupy"),
        ("/usr/lib/libexample.so.1", "libexample.so.1"),
        (None, "unknown"),
    ],
)
def test_a_framework_is_known_by_its_files(path: str | None, library: str) -> None:
    assert library_name(path) == library
