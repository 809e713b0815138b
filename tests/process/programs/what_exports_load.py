"""Print the frameworks that are loaded once every public name of gpumem was used."""

import json
import sys

import gpumem
import gpumem.plugin

for name in gpumem.__all__:
    getattr(gpumem, name)
FRAMEWORKS = {"jax", "jaxlib", "tensorflow", "torch", "cupy", "numpy"}
print(json.dumps(sorted(name for name in sys.modules if name.partition(".")[0] in FRAMEWORKS)))
