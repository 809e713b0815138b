"""What this plugin says about CuPy: names, the variable, deadlines, allocators."""

from __future__ import annotations

from gpumem.plugin import AllocatorSupport, FieldSupport, Framework
from gpumem_cupy.allocate import OUT_OF_MEMORY

NAME = "cupy"
LIMIT_VARIABLE = "CUPY_GPU_MEMORY_LIMIT"
"""The only variable of CuPy that limits memory: bytes, or a percentage (cupy/cuda/memory.pyx 14.2.0, line 1204)."""

DISTRIBUTIONS = ("cupy-cuda12x", "cupy-cuda13x", "cupy-cuda11x", "cupy")

OUTSIDE_OF_CAPS = (
    "the CUDA context, library handles, cuRAND states, NCCL and kernels' local memory (one to a few hundred MiB), "
    "pinned host memory, and whatever does not ask CuPy's allocator"
)
"""As CuPy's user guide says: docs/source/user_guide/memory.rst 14.2.0, "will not be counted in the limit"."""

FRAMEWORK = Framework(
    name=NAME,
    title="CuPy",
    distributions=DISTRIBUTIONS,
    variables=(LIMIT_VARIABLE,),
    limit_unit="bytes",
    fields=(
        FieldSupport(
            field="limit",
            native=f"{LIMIT_VARIABLE} in bytes; MemoryPool.set_limit(size=...) per device",
            deadline="any time: the variable until CuPy's first use of its pool, set_limit() after that",
            strength="hard",
            scope="allocator",
            note="one limit for all devices is also read by every other pool of the process and by child processes",
        ),
        FieldSupport(
            field="preallocate",
            native="an allocation at a device's first touch, freed into the pool at once",
            deadline="any time; it is made at the next allocation on the device",
            strength="soft",
            scope="device",
            note="only the stream that was current then reuses it; free_all_blocks() gives it back",
        ),
        FieldSupport(
            field="allocator",
            native="cupy.cuda.set_allocator()",
            deadline="any time; arrays that exist keep their memory",
            strength="hard",
            scope="process",
            note="the last caller wins: a library that sets its own allocator later replaces it",
        ),
        FieldSupport(
            field="visible",
            native="-",
            deadline="-",
            strength="-",
            scope="-",
            note="CuPy sees what CUDA_VISIBLE_DEVICES leaves, which the person who starts the program sets",
        ),
        FieldSupport(field="options", native="-", deadline="-", strength="-", scope="-"),
    ),
    allocators=(
        AllocatorSupport("pool", "MemoryPool", holds_cap=True, note="CuPy's own choice"),
        AllocatorSupport(
            "async",
            "MemoryAsyncPool",
            holds_cap=True,
            note="holds what CuPy asks for, not what others take from the same driver pool; makes a context on every "
            "visible device; experimental in CuPy 13",
        ),
        AllocatorSupport("managed", "MemoryPool(malloc_managed)", holds_cap=True),
        AllocatorSupport("direct", "set_allocator(None)", holds_cap=False),
    ),
    outside_of_caps=OUTSIDE_OF_CAPS,
    allocate="gpumem_cupy.allocate:allocate",
    out_of_memory=OUT_OF_MEMORY,
)
