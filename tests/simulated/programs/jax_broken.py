"""Another library interferes after configure(): verify() must name what differs, or say that the cap held all the same.

usage: jax_broken.py HOW     HOW: variable or options (of JAX's GPU client)
"""

import json
import os
import sys
import warnings

import jax
import numpy as np

import gpumem

HOW = sys.argv[1]
warnings.simplefilter("ignore")
gpumem.configure(frameworks={"jax": json.loads(os.environ["POLICY"])})
if HOW == "variable":
    os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "0.9"
else:
    jax.config.update("jax_pjrt_client_create_options", {"memory_fraction": 0.9})
before = [[row.state, row.why] for row in gpumem.verify().rows_of("jax")]
jax.device_put(np.zeros(1 << 20, np.uint8)).block_until_ready()
report = gpumem.verify()
try:
    gpumem.verify(strict=True)
    strict = "passed"
except gpumem.VerificationError as error:
    strict = str(error)
rows = [[row.state, row.in_force, row.why] for row in report.rows_of("jax")]
print(json.dumps({"before": before, "rows": rows, "ok": report.ok, "strict": strict}))
