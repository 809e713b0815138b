"""What this plugin says about JAX: names, variables, and how each field of a policy is expressed."""

from __future__ import annotations

from typing import Final

from gpumem.plugin import AllocatorSupport, FieldSupport, Framework
from gpumem_jax import builds, variables
from gpumem_jax.allocate import OUT_OF_MEMORY

NAME: Final = "jax"

_DISCOVERY: Final = "until JAX first uses a device"

FRAMEWORK: Final = Framework(
    name=NAME,
    title="JAX",
    distributions=builds.DISTRIBUTIONS,
    variables=(
        variables.FRACTION,
        variables.NEW_FRACTION,
        variables.PREALLOCATE,
        variables.ALLOCATOR,
        variables.UNIFIED,
        variables.PLATFORMS,
        variables.CREATE_OPTIONS,
        variables.COLLECTIVE_SIZE,
        variables.ABORT,
        variables.TFRT,
        variables.HOST_LIMIT,
        variables.HOST_PREALLOCATE,
        variables.ASYNC_PREALLOCATE,
        variables.NEVER_READ,
    ),
    limit_unit="fraction",
    fields=(
        FieldSupport(
            "limit",
            f"{variables.FRACTION} (or {variables.NEW_FRACTION}, if that is set), one fraction for all devices",
            _DISCOVERY,
            "hard",
            "process",
            "Bytes become the largest 32-bit fraction that stays within them on every device, and are calculated "
            "again with the driver's own totals when JAX starts.",
        ),
        FieldSupport(
            "preallocate",
            f"{variables.PREALLOCATE}=true or false",
            _DISCOVERY,
            "soft",
            "process",
            "All or nothing: a size cannot be taken ahead. What the driver refuses, JAX asks for in nine tenths.",
        ),
        FieldSupport("allocator", variables.ALLOCATOR, _DISCOVERY, "advice", "process", "One for all devices."),
        FieldSupport(
            "visible",
            'jax.config.update("jax_cuda_visible_devices", "0,2"); to hide all, JAX_PLATFORMS without cuda',
            _DISCOVERY,
            "hard",
            "process",
            "A hidden GPU gets no CUDA context from JAX.",
        ),
        FieldSupport(
            "options",
            "a few variables of JAX, by the names in the plugin's README",
            _DISCOVERY,
            "advice",
            "process",
        ),
    ),
    allocators=(
        AllocatorSupport("pool", "bfc", holds_cap=True, note="JAX's default."),
        AllocatorSupport("async", "cuda_async", holds_cap=False, note="The driver's default pool, without a maximum."),
        AllocatorSupport(
            "direct", "platform", holds_cap=False, note="Slow. Not in 0.10.1 and 0.10.2, where it is BFC in truth."
        ),
        AllocatorSupport("vmm", "vmm", holds_cap=True, note="From 0.10.0; reports no statistics."),
        AllocatorSupport(
            "managed",
            f"{variables.UNIFIED}=1",
            holds_cap=False,
            note="TensorFlow reads the same variable. A fraction below 1 is no limit under it; from 1 on it is one.",
        ),
    ),
    outside_of_caps=(
        "the CUDA context, cuDNN, cuBLAS and cuSOLVER handles, CUDA graphs, NCCL and its user buffers (JAX's second "
        "pool, of at most the rest of the memory) and pinned host memory are outside of its fraction"
    ),
    allocate="gpumem_jax.allocate:allocate",
    out_of_memory=OUT_OF_MEMORY,
)
