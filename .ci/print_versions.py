# ruff: noqa: INP001 (scripts of CI, not a package)
"""Write the versions of the frameworks and of our own packages in this environment to a file, and print them."""

from __future__ import annotations

import platform
import re
import sys
from importlib.metadata import distributions
from pathlib import Path

SHOWN = re.compile(r"gpumem-.*|jax|jaxlib|jax-cuda.*-plugin|tensorflow|torch|cupy-.*|numpy|pytest")


def main(target: Path) -> None:
    """Write one line per distribution."""
    found = {str(dist.metadata["Name"]).lower(): dist.version for dist in distributions()}
    lines = [f"python {platform.python_version()}"]
    lines += [f"{name} {version}" for name, version in sorted(found.items()) if SHOWN.fullmatch(name)]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
