"""32 threads that configure and then use CuPy for the first time, all at once, on two devices."""

import json
import threading

import cupy

import gpumem

THREADS = 32
gate = threading.Barrier(THREADS)
kept, errors = [], []


def work(number):
    try:
        gate.wait()
        gpumem.configure(cap="2GiB", preallocate="1GiB")
        gate.wait()
        with cupy.cuda.Device(number % 2):
            kept.append(cupy.empty(1 << 20, "u1"))
    except Exception as error:
        errors.append(repr(error))


threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
held = []
for device in (0, 1):
    with cupy.cuda.Device(device):
        held.append(cupy.get_default_memory_pool().total_bytes())
own = getattr(cupy.cuda.get_allocator(), "__self__", None)
rows = {row.field: row.state for row in gpumem.verify().rows if row.framework == "cupy"}
shown = {"errors": errors, "held": held, "rows": rows, "default_pool": own is cupy.get_default_memory_pool()}
print(json.dumps(shown))
