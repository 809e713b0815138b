"""Print what is imported and running after `configure()`."""

import json
import sys
import threading

import gpumem
from gpumem.plugin import cuda_state

gpumem.configure(cap="4GiB", growth=True, fraction=0.5, on_unsupported="ignore")
FRAMEWORKS = {"jax", "jaxlib", "tensorflow", "torch", "cupy", "numpy"}
print(
    json.dumps(
        {
            "frameworks": sorted(name for name in sys.modules if name.partition(".")[0] in FRAMEWORKS),
            "threads": threading.active_count(),
            "configured": gpumem.is_configured(),
            "cuda": cuda_state().status,
        }
    )
)
