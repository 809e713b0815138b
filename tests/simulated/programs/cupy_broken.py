"""What takes a cap out of force after it was set, one way after the other; verify() must name each."""

import json

import gpumem

gpumem.configure(cap="2GiB")
import cupy  # noqa: E402 - the policy comes first

pool = cupy.get_default_memory_pool()
array = cupy.empty(1 << 20, "u1")
shown = {}


def judge(name):
    (row,) = [r for r in gpumem.verify().rows if (r.framework, r.field) == ("cupy", "cap")]
    try:
        gpumem.verify(strict=True)
        strict = ""
    except gpumem.VerificationError as error:
        strict = str(error)
    shown[name] = [row.state, row.in_force, row.why, strict]


judge("intact")
cupy.cuda.set_allocator(None)
judge("no pool")
cupy.cuda.set_allocator(cupy.cuda.malloc_managed)
judge("no pool, managed")
other = cupy.cuda.MemoryPool()
cupy.cuda.set_allocator(other.malloc)
other.malloc(512)
judge("another pool, which reads the variable")
other.set_limit(size=0)
judge("another pool without a limit")
cupy.cuda.set_allocator(
    cupy.cuda.PythonFunctionAllocator(lambda _size, _device: 0, lambda _pointer, _device: None).malloc
)
judge("another library")
cupy.cuda.set_allocator(pool.malloc)
judge("intact again")
pool.set_limit(size=0)
judge("limit lifted")
pool.set_limit(size=3 << 30)
judge("limit raised")
pool.set_limit(size=1 << 30)
judge("limit lowered")
print(json.dumps(shown))
