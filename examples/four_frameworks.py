"""One process, four real frameworks, one policy: what was asked, set, in force, taken and refused.

    python examples/four_frameworks.py

On a machine without an NVIDIA GPU the program starts itself again on a simulated one (the package gpumem-simgpu).
It exits with 1 if a promise is broken: a cap that is not in force, a request within the cap that is refused, one
beyond it that is granted, or memory taken ahead although growth was asked.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gpumem

MIB, GIB = 1 << 20, 1 << 30
CAP = 2 * GIB
STEPS = {"first touch": 1 * MIB, "within": 1 * GIB, "beyond": 3 * GIB // 2}
"""What each framework allocates, one after the other, and keeps: the last step would exceed the cap."""

SMALL = 64 * MIB
"""Under growth no framework takes more than this at a first touch of 1 MiB."""


def allocate_jax(size: int) -> object:
    """Put `size` bytes on the GPU with JAX."""
    import jax
    import numpy as np

    return jax.device_put(np.zeros(size, np.uint8)).block_until_ready()


def allocate_tensorflow(size: int) -> object:
    """Put `size` bytes on the GPU with TensorFlow."""
    import tensorflow as tf

    with tf.device("GPU:0"):
        return tf.zeros([size // 4])


def allocate_torch(size: int) -> object:
    """Put `size` bytes on the GPU with PyTorch."""
    import torch

    return torch.empty(size, dtype=torch.uint8, device="cuda")


def allocate_cupy(size: int) -> object:
    """Put `size` bytes on the GPU with CuPy."""
    import cupy

    return cupy.empty(size, cupy.uint8)


ALLOCATE: dict[str, Callable[[int], object]] = {
    "jax": allocate_jax,
    "tensorflow": allocate_tensorflow,
    "torch": allocate_torch,
    "cupy": allocate_cupy,
}


def use_the_frameworks() -> dict[str, Any]:
    """Configure, then use every installed framework; return what happened as plain values."""
    gpumem.configure(cap="2GiB", growth=True)  # before or after the imports, and before the first touch

    kept: list[object] = []
    happened: dict[str, dict[str, Any]] = {}
    for name, allocate in ALLOCATE.items():
        if importlib.util.find_spec(name) is None:
            continue
        happened[name] = {}
        for step, size in STEPS.items():
            before = used_bytes()
            try:
                kept.append(allocate(size))
                happened[name][step] = {"granted": True, "taken": used_bytes() - before}
            except Exception as error:  # noqa: BLE001 - each framework has an error class of its own
                happened[name][step] = {"granted": False, "error": type(error).__name__}
    return {"frameworks": happened, "report": gpumem.verify().to_dict()}


def used_bytes() -> int:
    """Return how much memory of the first GPU is in use, by anybody."""
    import pynvml

    pynvml.nvmlInit()
    return int(pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).used)


def run_on_the_gpu() -> dict[str, Any]:
    """Run this program's other half on the GPU of this machine."""
    command = [sys.executable, __file__, "--inside"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **QUIET})
    return result_of(done.returncode, done.stdout, done.stderr)


def run_simulated() -> dict[str, Any]:
    """Run this program's other half on a simulated GPU, and add what the frameworks asked of its driver."""
    try:
        from gpumem_simgpu import SimulatedGpus
    except ImportError:
        sys.exit("There is no NVIDIA GPU here, and gpumem-simgpu, which would simulate one, is not installed.")
    print("No NVIDIA GPU here: simulating one. The first time this takes about a minute.", file=sys.stderr)
    run = SimulatedGpus("1x16GiB").run([sys.executable, __file__, "--inside"], env=QUIET)
    result = result_of(run.returncode, run.stdout, run.stderr)
    for name, steps in result["frameworks"].items():
        first = run.first_request(0, name)
        steps["first touch"]["taken"] = first.bytes if first else 0
        steps["peak"] = run.peak(0, name)
    return result


QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}


def result_of(code: int, stdout: str, stderr: str) -> dict[str, Any]:
    """Return what the other half printed last; end the program with everything it said if it failed."""
    if code:
        sys.exit(f"the frameworks ended with {code}:\n{stdout}\n{stderr}")
    result: dict[str, Any] = json.loads(stdout.strip().splitlines()[-1])
    return result


def broken_promises(result: dict[str, Any]) -> list[str]:
    """Return what is not as the policy asks, one sentence each."""
    found = [] if result["frameworks"] else ["no framework is installed"]
    for name, steps in result["frameworks"].items():
        rows = [row for row in rows_of(result, name) if row["state"] != "in_force"]
        found += [f"{name}: {row['field']}={row['asked']} is {row['state']}: {row['why']}" for row in rows]
        if not {row["field"] for row in rows_of(result, name)} >= {"cap", "preallocate"}:
            found.append(f"{name}: the report says nothing about cap or growth")
        refused = [step for step in ("first touch", "within") if not steps[step]["granted"]]
        found += [f"{name}: {human(STEPS[step])} within the cap was refused" for step in refused]
        if steps["beyond"]["granted"]:
            found.append(f"{name}: {human(STEPS['beyond'])} beyond the cap was granted")
        if "peak" in steps and steps["peak"] > CAP:
            found.append(f"{name}: held {human(steps['peak'])}, more than the cap")
        if "peak" in steps and steps["first touch"]["taken"] > SMALL:
            found.append(f"{name}: took {human(steps['first touch']['taken'])} ahead although growth was asked")
    return found


def rows_of(result: dict[str, Any], framework: str) -> list[dict[str, Any]]:
    """Return the report's rows of a framework."""
    return [row for row in result["report"]["rows"] if row["framework"] == framework]


def show(result: dict[str, Any], where: str) -> None:
    """Print the result as a table per framework."""
    print(f"policy: cap=2GiB, growth=True, for each framework; on {where}")
    for name, steps in result["frameworks"].items():
        print(f"\n{name}")
        for row in rows_of(result, name):
            print(f"  {'asked':<13} {row['field']} = {row['asked']}")
            print(f"  {'set':<13} {row['set']}")
            print(f"  {row['state'].replace('_', ' '):<13} {human(row['in_force'])}")
        print(f"  {'first touch':<13} {human(steps['first touch'].get('taken', 0))} taken for 1 MiB")
        print(f"  {'within':<13} {human(STEPS['within'])} more: {outcome(steps['within'])}")
        print(f"  {'beyond':<13} {human(STEPS['beyond'])} more: {outcome(steps['beyond'])}")
        if "peak" in steps:
            print(f"  {'peak':<13} {human(steps['peak'])} held at most")


def outcome(step: dict[str, Any]) -> str:
    """Return what became of a request in words."""
    return "granted" if step["granted"] else f"refused ({step['error']})"


def human(value: object) -> str:
    """Return bytes for people, everything else as it is."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, int):
        return f"{value:.6f}" if isinstance(value, float) else str(value)
    for size, unit in ((GIB, "GiB"), (MIB, "MiB")):
        if value >= size:
            return f"{value / size:.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{value} bytes"


def main() -> int:
    """Run on the GPU, or on a simulated one where there is none; return the exit code."""
    if sys.argv[1:] == ["--inside"]:
        print(json.dumps(use_the_frameworks()))
        return 0
    # explain() asks NVML which devices there are and starts nothing.
    devices = gpumem.explain(cap="50%").devices
    result = run_on_the_gpu() if devices else run_simulated()
    show(result, str(devices[0]["name"]) if devices else "a simulated GPU of 16 GiB")
    broken = broken_promises(result)
    print("\n" + ("\n".join(f"BROKEN  {text}" for text in broken) if broken else "every promise was kept"))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
