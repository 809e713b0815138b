"""A policy declared before CuPy starts: in a forked child, and in a child process that knows nothing of gpumem."""

import json
import os
import subprocess
import sys

import gpumem

gpumem.configure(**json.loads(os.environ["POLICY"]))
import cupy  # noqa: E402 - the policy comes first
from cupy.cuda.memory import OutOfMemoryError  # noqa: E402 - the policy comes first

GIB = 1 << 30
PLAIN = """
import cupy
from cupy.cuda.memory import OutOfMemoryError
a = cupy.empty(1 << 30, "u1")
try:
    b = cupy.empty(2 << 30, "u1")
    print("granted")
except OutOfMemoryError:
    print("refused")
"""


def answers():
    kept = [cupy.empty(GIB, "u1")]
    try:
        kept.append(cupy.empty(2 * GIB, "u1"))
        second = "granted"
    except OutOfMemoryError:
        second = "refused"
    states = {row.field: row.state for row in gpumem.verify().rows if row.framework == "cupy"}
    return {"second": second, "states": states, "held": cupy.get_default_memory_pool().total_bytes()}


reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.write(writer, json.dumps(answers()).encode())
    os._exit(0)
os.close(writer)
with os.fdopen(reader) as pipe:
    forked = json.load(pipe)
os.waitpid(child, 0)
plain = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=True).stdout.strip()
print(json.dumps({"forked": forked, "plain": plain, "parent": answers()}))
