"""Blocks of a plugin's `allocate` count in the framework's own pool, and "no room" is told from other errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from gpumem_core.plugins.registry import Registry

if TYPE_CHECKING:
    from tests.simulated.conftest import RunProgram

pytestmark = pytest.mark.simulated
BLOCK, GIB = 64 << 20, 1 << 30
FRAMEWORKS = ("jax", "tensorflow", "torch", "cupy")
AT_THE_START = {
    "jax": (
        "RuntimeError: Unable to initialize backend 'cuda': INTERNAL: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1073741824 bytes.",
    ),
    "tensorflow": (
        "InternalError: cudaSetDevice() on GPU:0 failed. Status: out of memory",
        "InternalError: Failed copying input tensor in order to run _EagerConst: Dst tensor is not initialized.",
    ),
    "torch": (
        "AcceleratorError: CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation` in the documentation",
        "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
    ),
    "cupy": (
        "OutOfMemoryError: Out of memory allocating 1,073,741,824 bytes (allocated so far: 0 bytes).",
        "CUDARuntimeError: cudaErrorMemoryAllocation: out of memory",
    ),
}
"""What a context or a first copy raises on a full card, seen on simulated devices and in bug reports."""


def is_out_of_memory(framework: str, text: str) -> bool:
    """Say whether one of the plugin's patterns matches."""
    patterns = Registry({}).plugins[framework].framework.out_of_memory
    return any(re.search(pattern, text) for pattern in patterns)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    ("cap", "context", "room"),
    [
        pytest.param("1GiB", "0", 1 * GIB, id="by the cap"),
        pytest.param("3GiB", "2GiB", 2 * GIB, id="by a card that is full"),
    ],
)
def test_a_refusal_is_out_of_memory_and_what_was_granted_counts(
    run_program: RunProgram, framework: str, cap: str, context: str, room: int
) -> None:
    """A block that was granted is held by the framework's allocator; the refused one raises a known error."""
    done = run_program("allocate_until_refused.py", framework, cap, str(BLOCK), devices="1x4GiB", context=context)
    told = done.json
    assert is_out_of_memory(framework, told["error"]), told["error"]
    assert told["blocks"] * BLOCK <= told["counted"] <= room
    assert told["blocks"] * BLOCK > room * 3 // 4
    assert done.run.peak(0, framework) <= room


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_other_errors_are_not_out_of_memory(framework: str) -> None:
    """What has another reason is not taken for a lack of memory."""
    others = (
        "ValueError: out of range",
        "RuntimeError: no GPU",
        "ModuleNotFoundError: No module named 'memory'",
        "KeyError: 0",
    )
    assert [text for text in others if is_out_of_memory(framework, text)] == []


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_a_full_card_answers_at_the_start_is_out_of_memory(framework: str) -> None:
    """A context or a copy that found no room raises other classes than the allocator does."""
    assert [text for text in AT_THE_START[framework] if not is_out_of_memory(framework, text)] == []
