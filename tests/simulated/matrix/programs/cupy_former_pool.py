"""CuPy holds 512 MiB in its own pool when the policy brings another pool: what both may hold, and what is reported.

usage: cupy_former_pool.py WORD     WORD: async or managed
"""

import json
import sys

import cupy
from cupy.cuda.memory import OutOfMemoryError

import gpumem

MIB = 1 << 20
kept = [cupy.empty(512 * MIB, "u1")]
gpumem.configure(cap="2GiB", frameworks={"cupy": {"allocator": sys.argv[1]}})
granted = []
for size in (1024, 256, 512, 64):
    try:
        kept.append(cupy.empty(size * MIB, "u1"))
        granted.append(True)
    except OutOfMemoryError:
        granted.append(False)
rows = {row.field: [row.state, row.in_force, row.why] for row in gpumem.verify().rows_of("cupy")}
print(json.dumps({"granted": granted, "rows": rows}))
