"""Allocate blocks under a cap until one is refused; print the error and what CuPy's pool counted by then."""

import json
import sys

import cupy

import gpumem
from gpumem_cupy.allocate import allocate

BLOCK = 64 << 20
gpumem.configure(cap=sys.argv[1], growth=True)

kept, error = [], ""
while not error:
    try:
        kept.append(allocate(BLOCK))
    except Exception as refused:
        error = f"{type(refused).__name__}: {refused}"
counted = cupy.get_default_memory_pool().total_bytes()
print(json.dumps({"error": error, "blocks": len(kept), "counted": counted}))
