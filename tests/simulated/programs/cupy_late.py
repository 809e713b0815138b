"""Policies that come after CuPy has allocated: caps above and below what is held, the same twice, and a change."""

import json
import os

import cupy
from cupy.cuda.memory import OutOfMemoryError

import gpumem

GIB = 1 << 30
kept = [cupy.empty(3 * GIB, "u1")]
pool = cupy.get_default_memory_pool()


def state():
    (row,) = [r for r in gpumem.verify().rows if (r.framework, r.field) == ("cupy", "cap")]
    return [row.state, row.in_force, row.why]


def attempt(size):
    try:
        cupy.empty(size, "u1")
    except OutOfMemoryError:
        return "refused"
    pool.free_all_blocks()
    return "granted"


shown = {}
gpumem.configure(cap="4GiB")
shown["above"] = [state(), attempt(GIB), attempt(2 * GIB)]
gpumem.configure(cap="4GiB")
shown["same"] = [state(), attempt(2 * GIB)]
gpumem.configure(cap="6GiB")
shown["raised"] = [state(), attempt(2 * GIB), attempt(4 * GIB)]
gpumem.configure(cap="1GiB")
shown["below"] = [state(), attempt(GIB)]
with cupy.cuda.Device(1):
    shown["other device"] = [attempt(GIB), attempt(2 * GIB)]
shown["reset"] = [gpumem.reset(), pool.get_limit(), os.environ.get("CUPY_GPU_MEMORY_LIMIT"), attempt(8 * GIB)]

# A limit that the user set by CuPy's own call is kept against a weak source, and overruled by arguments.
pool.set_limit(size=5 * GIB)
gpumem.prefer(cap="4GiB")
gpumem.configure(preallocate=False)
with cupy.cuda.Device(0):
    shown["users"] = pool.get_limit()
gpumem.configure(cap="4GiB", ignore=["GM104"])
shown["users overruled"] = [pool.get_limit(), state()[0]]
gpumem.reset()
shown["users again"] = pool.get_limit()

# Another library's allocator is kept, and named.
cupy.cuda.set_allocator(
    cupy.cuda.PythonFunctionAllocator(lambda _size, _device: 0, lambda _pointer, _device: None).malloc
)
try:
    gpumem.configure(cap="4GiB")
except gpumem.UnsupportedPolicyError as error:
    shown["foreign"] = str(error)
print(json.dumps(shown))
