"""Allocate blocks under a cap until one is refused; print the error and what the client's allocator counted by then."""

import json
import sys

import jax

import gpumem
from gpumem_jax.allocate import allocate

BLOCK = 64 << 20
gpumem.configure(cap=sys.argv[1], growth=True)

kept, error = [], ""
while not error:
    try:
        kept.append(allocate(BLOCK))
    except Exception as refused:
        error = f"{type(refused).__name__}: {refused}"
counted = jax.devices()[0].memory_stats()["bytes_in_use"]
print(json.dumps({"error": error, "blocks": len(kept), "counted": counted}))
