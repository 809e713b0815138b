"""What this plugin says about TensorFlow: names, variables, and how each field of a policy is expressed."""

from __future__ import annotations

from typing import Final

from gpumem.plugin import AllocatorSupport, FieldSupport, Framework
from gpumem_tensorflow.allocate import OUT_OF_MEMORY
from gpumem_tensorflow.variables import ALLOCATOR, GROWTH, VARIABLES

NAME: Final = "tensorflow"

DISTRIBUTIONS: Final = ("tensorflow", "tensorflow-cpu", "tf-nightly")

_CONTEXT: Final = "until its context exists (first operation, list_logical_devices, tf.device, tf.data, Session)"

FRAMEWORK: Final = Framework(
    name=NAME,
    title="TensorFlow",
    aliases=("tf",),
    distributions=DISTRIBUTIONS,
    variables=VARIABLES,
    limit_unit="bytes",
    fields=(
        FieldSupport(
            "limit",
            "tf.config.set_logical_device_configuration(memory_limit=MB), MB = 2**20 bytes, rounded down",
            _CONTEXT,
            "hard",
            "device",
            "TensorFlow has no variable for it: it is set when the context is about to be created.",
        ),
        FieldSupport(
            "preallocate",
            f"{GROWTH}=true or false",
            _CONTEXT,
            "growth",
            "process",
            "One value for all visible GPUs. Only the async allocator can take a size ahead, without a limit.",
        ),
        FieldSupport(
            "allocator",
            f"{ALLOCATOR}, or use_unified_memory in its ConfigProto",
            _CONTEXT,
            "advice",
            "process",
            "One value for all visible GPUs.",
        ),
        FieldSupport(
            "visible",
            "tf.config.set_visible_devices",
            _CONTEXT,
            "hard",
            "process",
            "A hidden GPU gets no CUDA context from TensorFlow, which numbers GPUs in the order of their ordinals.",
        ),
        FieldSupport(
            "options",
            "a few variables of TensorFlow, by their own names",
            _CONTEXT,
            "advice",
            "process",
            "See the table in the plugin's README.",
        ),
    ),
    allocators=(
        AllocatorSupport("pool", "BFC", holds_cap=True, note="TensorFlow's default."),
        AllocatorSupport(
            "async",
            "cuda_malloc_async",
            holds_cap=False,
            note="A limit is only the release threshold of the driver's pool.",
        ),
        AllocatorSupport("direct", "cuda_malloc", holds_cap=False, note="One cudaMalloc per tensor; no statistics."),
        AllocatorSupport(
            "managed",
            "use_unified_memory",
            holds_cap=True,
            note="BFC on managed memory; limits above the device's total are accepted.",
        ),
    ),
    outside_of_caps=(
        "the CUDA context, cuDNN and cuBLAS handles, NCCL buffers and pinned host memory are outside of its limit"
    ),
    allocate="gpumem_tensorflow.allocate:allocate",
    out_of_memory=OUT_OF_MEMORY,
)
