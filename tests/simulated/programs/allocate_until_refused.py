"""Allocate blocks under a cap with the function that a plugin names, until one is refused.

usage: allocate_until_refused.py FRAMEWORK CAP BLOCK     prints the error, the blocks, and what the framework counts
"""

import json
import sys
from pkgutil import resolve_name

import gpumem
from gpumem_core.plugins.registry import Registry

NAME, CAP, BLOCK = sys.argv[1], sys.argv[2], int(sys.argv[3])
COUNT = {
    "jax": lambda jax: jax.devices()[0].memory_stats()["bytes_in_use"],
    "tensorflow": lambda tf: tf.config.experimental.get_memory_info("GPU:0")["current"],
    "torch": lambda torch: torch.cuda.memory_reserved(),
    "cupy": lambda cupy: cupy.get_default_memory_pool().total_bytes(),
}
allocate = resolve_name(Registry({}).plugins[NAME].framework.allocate)
gpumem.configure(cap=CAP, growth=True)

kept, error = [], ""
while not error:
    try:
        kept.append(allocate(BLOCK))
    except Exception as refused:
        error = f"{type(refused).__name__}: {refused}"
print(json.dumps({"error": error, "blocks": len(kept), "counted": COUNT[NAME](sys.modules[NAME])}))
