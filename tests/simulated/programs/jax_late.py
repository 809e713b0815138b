"""Configured twice, the same and differently, before JAX starts and after it: what is refused, and how it is said."""

import json
import os

import jax
import numpy as np

import gpumem


def configure(**policy):
    try:
        gpumem.configure(frameworks={"jax": policy})
    except gpumem.LateInitialisationError as error:
        return str(error)
    return "ok"


def variables():
    return {name: value for name, value in os.environ.items() if name.startswith("XLA_PYTHON")}


found = {"first": configure(cap="4GiB", growth=True), "variables": variables()}
found["same"] = configure(cap="4GiB", growth=True)
found["unchanged"] = variables() == found["variables"]
found["different"] = configure(cap="2GiB", growth=True)
found["of the second"] = variables()
kept = [jax.device_put(np.zeros(1 << 20, np.uint8)).block_until_ready()]
found["same after the start"] = configure(cap="2GiB", growth=True)
found["the same limit, said otherwise"] = configure(cap=2 << 30, growth=True, on_late="error")
before = dict(os.environ)
found["late"] = configure(cap="8GiB", growth=True)
found["late and hidden"] = configure(visible="none")
found["nothing changed"] = before == dict(os.environ)
found["ignored"] = configure(cap="8GiB", growth=True, on_late="ignore")
rows = {f"{row.field} {row.device}": [row.state, row.in_force] for row in gpumem.verify().rows_of("jax")}
print(json.dumps({**found, "rows": rows}))
