"""JAX has read its variables but made no GPU client: a cap still reaches it, and can be taken back."""

import json

import jax
import jax._src.xla_bridge as xb
import numpy as np

import gpumem

xb._discover_and_register_pjrt_plugins()
gpumem.configure(frameworks={"jax": {"cap": "2GiB", "growth": True}})
rows = {f"{row.field} {row.device}": [row.state, row.set] for row in gpumem.report().rows_of("jax")}
left = gpumem.reset()
gpumem.configure(frameworks={"jax": {"cap": "3GiB", "growth": True, "allocator": "async"}}, ignore=["GM202"])
granted, kept = [], []
for size in (2 << 30, 2 << 30):
    try:
        kept.append(jax.device_put(np.zeros(size, np.uint8)).block_until_ready())
        granted.append(True)
    except Exception:
        granted.append(False)
after = {f"{row.field} {row.device}": [row.state, row.in_force] for row in gpumem.verify().rows_of("jax")}
print(json.dumps({"rows": rows, "left": left, "granted": granted, "after": after, "late": gpumem.reset()}))
