"""JAX under a policy: what it grants, what is in force, and whether anything was started before JAX itself.

usage: jax_ask.py MOMENT ASKS      MOMENT: before or after the import; ASKS: [[device, bytes], ...], kept alive
WITHOUT_NVML=1 makes NVML's Python module impossible to import (JAX 0.12 itself does not start without NVML).
The arguments of gpumem.configure() are in POLICY, as JSON.
"""

import json
import os
import sys
import warnings

import gpumem
from gpumem.plugin import cuda_state

if os.environ.get("WITHOUT_NVML"):
    sys.modules["pynvml"] = None
MOMENT, ASKS = sys.argv[1], json.loads(sys.argv[2])


def rows(report):
    return {
        f"{row.field} {row.device}": [row.state, row.in_force, row.set, row.why, row.origin]
        for row in report.rows_of("jax")
    }


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    if MOMENT == "after":
        import jax
    gpumem.configure(**json.loads(os.environ.get("POLICY", "{}")))
    import jax
    import numpy as np

    cuda, waiting = cuda_state().status, rows(gpumem.report())
    written = {name: value for name, value in os.environ.items() if name.startswith(("XLA_", "JAX_PLAT", "TF_FORCE"))}
    granted, kept = [], []
    for device, size in ASKS:
        place = next((d for d in jax.local_devices() if getattr(d, "local_hardware_id", d.id) == device), None)
        try:
            kept.append(jax.device_put(np.zeros(size, np.uint8), place).block_until_ready())
            granted.append(True)
        except Exception as error:
            granted.append(f"{type(error).__name__}: {str(error)[:60]}")
    report = gpumem.verify()

print(
    json.dumps(
        {
            "cuda": cuda,
            "waiting": waiting,
            "written": written,
            "platform": jax.default_backend(),
            "devices": [getattr(d, "local_hardware_id", d.id) for d in jax.local_devices()],
            "granted": granted,
            "rows": rows(report),
            "ok": report.ok,
            "notes": list(report.notes),
            "warnings": [str(w.message) for w in caught if issubclass(w.category, gpumem.GpumemWarning)],
        }
    )
)
