"""The program of a trial: runs a script in this interpreter, which must be fresh, and writes down each step.

It is run by `launch`, as ``python -P -c "..." SCRIPT RECORD NUMBER``: with ``-c`` there is no script whose folder could
be searched for a policy before the working directory, and ``-P`` keeps a file such as ``random.py`` there from being
imported.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Final

import gpumem
from gpumem_core import state
from gpumem_tools.trial.device_memory import DeviceMemory
from gpumem_tools.trial.script import Script, Turn, past_the_cap, read_script

PROGRAM: Final = "from gpumem_tools.trial.take_turns import main; main()"
LONGEST_ERROR: Final = 600


class Recorder:
    """Appends one JSON line for each step, so that nothing is lost when the process dies."""

    def __init__(self, path: Path, process: int) -> None:
        """Write to `path` on behalf of the process of this number."""
        self.path = path
        self.process = process

    def write(self, event: str, **values: object) -> None:
        """Write a line."""
        line = json.dumps({"event": event, "process": self.process, "pid": os.getpid(), **values})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def main() -> None:
    """Run the script whose text, record and number stand in the arguments."""
    text, record, number = sys.argv[1:4]
    script = read_script(text)
    recorder = Recorder(Path(record), int(number))
    recorder.write("started")
    if not declare(script, recorder):
        return
    memory = DeviceMemory()
    kept: list[object] = []
    for turn in script.turns:
        take(turn, recorder, memory, kept)
    if script.second is not None:
        arguments = [script.second.to_json(), record, str(int(number) + 1)]
        subprocess.run([sys.executable, "-P", "-c", PROGRAM, *arguments], check=False)
    recorder.write("ended")
    # Whatever the frameworks do when they are taken down is no part of the trial, and may take seconds.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def declare(script: Script, recorder: Recorder) -> bool:
    """Put the policy in force; return False when gpumem refuses it, which is written down."""
    if script.declare == "nothing":
        return True
    try:
        gpumem.configure(**(script.policy or {}))
    except gpumem.GpumemError as error:
        recorder.write("policy refused", kind=type(error).__name__, text=str(error))
        return False
    decision = state.current().decision
    for problem in decision.problems if decision else ():
        recorder.write("asked", framework=problem.name, limit=None, hidden=False, rows=rows_of(problem.name))
    for item in decision.frameworks if decision else ():
        recorder.write(
            "asked",
            framework=item.name,
            limit=item.budgets.of(0).limit_bytes,
            hidden=item.settings.hidden,
            rows=rows_of(item.name),
        )
    return True


def rows_of(framework: str) -> list[dict[str, object]]:
    """Return what the report says of a framework on its first device."""
    return [row.to_dict() for row in gpumem.report().rows_of(framework) if row.device in (None, 0)]


def take(turn: Turn, recorder: Recorder, memory: DeviceMemory, kept: list[object]) -> None:
    """Allocate the blocks of a turn, until one is refused, and write down what the framework says then."""
    blocks = turn.blocks or past_the_cap(limit_of(turn.framework))
    before = memory.used()
    for size in blocks:
        try:
            kept.append(resolve_name(turn.allocate)(size))
        except Exception as error:  # noqa: BLE001 - each framework has classes of its own, and any may come
            text = f"{type(error).__name__}: {error}"
            known = any(re.search(pattern, text) for pattern in turn.patterns)
            recorder.write("refused", framework=turn.framework, bytes=size, error=text[:LONGEST_ERROR], known=known)
            break
        after = memory.used()
        taken = None if before is None or after is None else after - before
        recorder.write("granted", framework=turn.framework, bytes=size, taken=taken)
        before = after
    held = held_bytes(turn.framework)
    recorder.write("turn over", framework=turn.framework, held=held, free=memory.free(), rows=rows_of(turn.framework))


def limit_of(framework: str) -> int:
    """Return the bytes that the policy lets a framework hold on its first device."""
    decision = state.current().decision
    found = (
        [item.budgets.of(0).limit_bytes for item in decision.frameworks if item.name == framework] if decision else []
    )
    return next((limit for limit in found if limit), 0)


def held_bytes(framework: str) -> int | None:
    """Return what the framework's allocator says that it holds, None where it does not."""
    decision = state.current().decision
    module = sys.modules.get(framework)
    if decision is None or module is None:
        return None
    seen = [one for one in decision.registry.observe(framework, module) if one.device in (None, 0)]
    return max((one.held for one in seen if one.held is not None), default=None)
