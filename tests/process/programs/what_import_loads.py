"""Print which of the modules that `import gpumem` must not load it loads all the same."""

import json
import sys

before = set(sys.modules)
import gpumem  # noqa: E402, F401

UNWANTED = {"pluggy", "dataclasses", "tomllib", "gpumem_core", "inspect", "typing_extensions", "pynvml"}
print(json.dumps(sorted(name for name in set(sys.modules) - before if name.partition(".")[0] in UNWANTED)))
