"""Declare and import in the parent, fork, and use the GPU first from 32 threads of the child.

The child's outcome is printed; the parent starts nothing.
"""

import json
import os
import sys
import threading

import gpumem

gpumem.configure(cap="2GiB", growth=True)
import tensorflow as tf  # noqa: E402

read, write = os.pipe()
child = os.fork()
if child == 0:
    barrier = threading.Barrier(32)
    held, errors = [], []

    def use() -> None:
        barrier.wait()
        try:
            with tf.device("GPU:1"):
                held.append(tf.zeros([4, 1 << 18]))
        except tf.errors.OpError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=use) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = [row for row in gpumem.report().to_dict()["rows"] if row["framework"] == "tensorflow"]
    os.write(write, json.dumps({"held": len(held), "errors": errors, "rows": rows}).encode())
    os._exit(0)
os.close(write)
with os.fdopen(read) as stream:
    text = stream.read()
_, status = os.waitpid(child, 0)
from gpumem.plugin import cuda_state  # noqa: E402

shown = {"child": json.loads(text), "status": status, "parent": cuda_state().status}
print(json.dumps(shown))
sys.exit(0)
