"""Every case of the C programs beside this file, each in a process of its own.

What a case promises stands as a comment above it in the C source; a failed check prints its file and line and
what was expected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Their cases have several threads or children, whose lines come in any order.
SEVERAL_AT_ONCE = {
    *("contexts", "context_stacks", "faults", "fork", "mig", "nvml", "nvml_modes"),
    *("processes", "runtime", "runtime_streams", "threads"),
}
# Its threads free each other's memory by addresses that they should have forgotten, before it is even written down.
NOT_JUDGED = {"monkey-four_from_seed_6"}


def totals(case: Any) -> dict[int, int]:
    """Return the bytes of each device of a case's machine, by bus number."""
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
    value = dict(word.split("=", 1) for word in case.machine.split())["DEVICES"]
    sizes: list[int] = []
    for part in value.split(","):
        times, size = part.split("x") if "x" in part else ("1", part)
        sizes += [int(size[:-3]) * units[size[-3:]]] * int(times)
    return dict(enumerate(sizes))


def test_native_case(case: Any, builds: Any, account: Any, tmp_path: Path) -> None:
    """The case holds, and the log of it accounts for every byte that it was granted and gave back."""
    done = builds.run(case, tmp_path)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    if str(case) not in NOT_JUDGED:
        account(totals(case), one_thread=case.program not in SEVERAL_AT_ONCE).play(done.events)
    assert all(event["rc"] == 801 for event in done.events if event.get("note") == "not simulated")
