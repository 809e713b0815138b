"""Configured from 32 threads at once, then forked before JAX starts: the child uses the GPU under the cap."""

import json
import os
import sys
import threading

import jax
import numpy as np

import gpumem

barrier, problems = threading.Barrier(32), []


def configure():
    barrier.wait()
    try:
        gpumem.configure(frameworks={"jax": {"cap": "3GiB", "growth": True}})
    except Exception as error:
        problems.append(repr(error))


threads = [threading.Thread(target=configure) for _ in range(32)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

reading, writing = os.pipe()
child = os.fork()
if child == 0:
    granted, kept = [], []
    for size in (1 << 30, 3 << 30):
        try:
            kept.append(jax.device_put(np.zeros(size, np.uint8)).block_until_ready())
            granted.append(True)
        except Exception:
            granted.append(False)
    rows = {f"{row.field} {row.device}": row.state for row in gpumem.verify().rows_of("jax")}
    os.write(writing, json.dumps({"granted": granted, "rows": rows, "pid": os.getpid()}).encode())
    sys.stdout.flush()
    os._exit(0)
os.close(writing)
with os.fdopen(reading) as pipe:
    said = json.loads(pipe.read() or "{}")
os.waitpid(child, 0)
rows = {f"{row.field} {row.device}": row.state for row in gpumem.verify().rows_of("jax")}
print(json.dumps({"problems": problems, "child": said, "parent": rows, "hooks": len(sys.meta_path)}))
