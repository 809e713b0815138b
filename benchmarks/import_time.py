# ruff: noqa: INP001 (a script, not a package)
"""How long `import gpumem` and a first `configure()` take: python benchmarks/import_time.py.

Prints the median and the best of some rounds, each in a fresh interpreter, in milliseconds. It asserts nothing:
times belong to a machine.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

ROUNDS = 15
CASES = {
    "an empty program": "",
    "import gpumem": "import gpumem",
    "configure() without a policy": "import gpumem; gpumem.configure()",
    "configure() with a policy": "import gpumem; gpumem.configure(cap='4GiB', growth=True)",
    "import pluggy": "import pluggy",
}
TIMED = """
import time
start = time.perf_counter()
{program}
print(time.perf_counter() - start)
"""


def measure(program: str) -> list[float]:
    """Return the milliseconds that `program` took in each round, without the start of the interpreter."""
    command = [sys.executable, "-c", TIMED.format(program=program)]
    runs = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(ROUNDS))
    return [float(run.stdout.splitlines()[-1]) * 1000 for run in runs]


def main() -> None:
    """Print one line per case."""
    for name, program in CASES.items():
        times = measure(program)
        sys.stdout.write(f"{name:<34} median {statistics.median(times):7.1f} ms   best {min(times):7.1f} ms\n")


if __name__ == "__main__":
    main()
