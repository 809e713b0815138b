"""What a Python interpreter has installed.

Another interpreter runs this file by itself, so it imports the standard library alone.
"""

from __future__ import annotations

import json
import sys
import sysconfig
from importlib import metadata

FRAMEWORKS = (
    "tensorflow",
    "torch",
    "jax",
    "jaxlib",
    "jax-cuda12-plugin",
    "jax-cuda12-pjrt",
    "jax-cuda13-plugin",
    "jax-cuda13-pjrt",
    "cupy-cuda12x",
    "cupy-cuda13x",
)


def facts() -> dict[str, object]:
    """Return the interpreter's ABI, its header folder, and each framework's version and place."""
    installed = {}
    for name in FRAMEWORKS:
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        installed[name] = [found.version, str(found.locate_file(""))]
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "include": sysconfig.get_path("include"),
        "suffix": sysconfig.get_config_var("EXT_SUFFIX"),
        "installed": installed,
    }


if __name__ == "__main__":
    print(json.dumps(facts()))
