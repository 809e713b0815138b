"""What the user's own variables mean to TensorFlow."""

from __future__ import annotations

import pytest

from gpumem.plugin import NativeSetting
from gpumem_tensorflow.native import read_native


@pytest.mark.parametrize(
    ("variables", "field", "value"),
    [
        ({"TF_FORCE_GPU_ALLOW_GROWTH": "true"}, "preallocate", False),
        ({"TF_FORCE_GPU_ALLOW_GROWTH": "false"}, "preallocate", True),
        ({"TF_GPU_ALLOCATOR": "cuda_malloc_async"}, "allocator", "async"),
        ({"TF_GPU_ALLOCATOR": "cuda_malloc"}, "allocator", "direct"),
        ({"TF_GPU_ALLOCATOR": "memory_guard"}, "allocator", "pool"),
    ],
)
def test_a_variable_that_tensorflow_reads_decides_its_field(
    variables: dict[str, str], field: str, value: object
) -> None:
    reading = read_native(variables)
    (name,) = variables
    assert reading.settings == (NativeSetting(field, value, f"environment {name}"),)
    assert reading.faults == ()


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("TF_FORCE_GPU_ALLOW_GROWTH", "1", 'exactly "true" or "false"'),
        ("TF_FORCE_GPU_ALLOW_GROWTH", "True", 'exactly "true" or "false"'),
        ("TF_GPU_ALLOCATOR", "bogus", "ignored by TensorFlow without a message"),
        ("TF_PER_DEVICE_MEMORY_LIMIT_MB", "4000", "is no cap"),
        ("TF_DEVICE_MIN_SYS_MEMORY_IN_MB", "1GiB", "not a whole number"),
        ("TF_ENABLE_GPU_GARBAGE_COLLECTION", "0", 'exactly "true" or "false"'),
    ],
)
def test_a_value_that_does_not_mean_what_it_seems_is_a_fault_that_is_not_fatal(name: str, text: str, part: str) -> None:
    reading = read_native({name: text})
    assert reading.settings == ()
    (fault,) = reading.faults
    assert (fault.variable, fault.text, fault.fatal) == (name, text, False)
    assert part in fault.problem


def test_nothing_is_said_about_variables_that_are_unset_or_empty() -> None:
    empty = {"TF_FORCE_GPU_ALLOW_GROWTH": "", "TF_GPU_ALLOCATOR": "", "TF_GPU_HOST_MEM_LIMIT_IN_MB": "4096"}
    for environ in ({}, empty):
        reading = read_native(environ)
        assert (reading.settings, reading.faults) == ((), ())


def test_keras_with_another_backend_is_named_where_it_will_replace_the_value() -> None:
    reading = read_native({"TF_FORCE_GPU_ALLOW_GROWTH": "false", "KERAS_BACKEND": "jax"})
    (fault,) = reading.faults
    assert "KERAS_BACKEND=jax" in fault.problem
    assert read_native({"TF_FORCE_GPU_ALLOW_GROWTH": "true", "KERAS_BACKEND": "jax"}).faults == ()
