"""The real TensorFlow on a simulated device: blocks count in its own pool, and "no room" is told from other errors."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from gpumem_simgpu import SimulatedGpus
from gpumem_tensorflow.describe import FRAMEWORK

PROGRAM = Path(__file__).parent / "programs" / "allocate_until_refused.py"
BLOCK, GIB = 64 << 20, 1 << 30


@pytest.mark.simulated
@pytest.mark.parametrize(
    ("cap", "context", "room"),
    [
        pytest.param("1GiB", "0", 1 * GIB, id="by the cap"),
        pytest.param("3GiB", "2GiB", 2 * GIB, id="by a card that is full"),
    ],
)
def test_a_refusal_is_out_of_memory_and_what_was_granted_counts(cap: str, context: str, room: int) -> None:
    """A block that was granted is held by TensorFlow's allocator; the one that was refused raises a known error."""
    run = SimulatedGpus("1x4GiB", context=context).run(
        [sys.executable, str(PROGRAM), cap], env={"TF_CPP_MIN_LOG_LEVEL": "2"}
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout.strip().splitlines()[-1])
    assert any(re.search(pattern, told["error"]) for pattern in FRAMEWORK.out_of_memory), told["error"]
    assert told["blocks"] * BLOCK <= told["counted"] <= room
    assert told["blocks"] * BLOCK > room * 3 // 4
    assert run.peak(0, "tensorflow") <= room


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: out of range",
        "RuntimeError: no GPU",
        "ModuleNotFoundError: No module named 'memory'",
        "KeyError: 0",
    ],
)
def test_other_errors_are_not_out_of_memory(text: str) -> None:
    """What has another reason is not taken for a lack of memory."""
    assert not any(re.search(pattern, text) for pattern in FRAMEWORK.out_of_memory)


@pytest.mark.parametrize(
    "text",
    [
        "InternalError: cudaSetDevice() on GPU:0 failed. Status: out of memory",
        "InternalError: Failed copying input tensor in order to run _EagerConst: Dst tensor is not initialized.",
    ],
)
def test_what_a_full_card_answers_at_the_start_is_out_of_memory(text: str) -> None:
    """A context or a copy that found no room raises other classes, seen on simulated devices and in bug reports."""
    assert any(re.search(pattern, text) for pattern in FRAMEWORK.out_of_memory)
