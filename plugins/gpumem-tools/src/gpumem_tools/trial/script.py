"""What a trial is to do, as plain values that go to a fresh interpreter as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

MIB: Final = 1 << 20
GIB: Final = 1 << 30
TOUCH: Final = 1 * MIB
"""The first block: what a framework takes for this much is what it takes ahead."""

Declare = Literal["nothing", "arguments", "project"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One framework allocates blocks and keeps them, until one is refused.

    Attributes:
        framework: its name.
        allocate: the function that its plugin names, ``module:function``.
        patterns: its plugin's patterns of errors that mean "no room".
        blocks: bytes of each block, in turn; empty for "past the cap", in steps that follow from the cap.
    """

    framework: str
    allocate: str
    patterns: tuple[str, ...] = ()
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """One process.

    Attributes:
        turns: what its frameworks do, one after the other.
        declare: ``nothing`` leaves the frameworks as they are, ``arguments`` configures with `policy`, ``project``
            with what variables and files say.
        policy: arguments of `gpumem.configure`.
        second: a process that this one starts when its turns are over, and waits for while it keeps its blocks.
    """

    turns: tuple[Turn, ...]
    declare: Declare = "nothing"
    policy: Mapping[str, Any] | None = None
    second: Script | None = None

    def to_json(self) -> str:
        """Return the script as text."""
        return json.dumps(asdict(self))


def read_script(text: str) -> Script:
    """Return the script that `Script.to_json` wrote."""
    return _script(json.loads(text))


def _script(data: Mapping[str, Any]) -> Script:
    turns = tuple(
        Turn(turn["framework"], turn["allocate"], tuple(turn["patterns"]), tuple(turn["blocks"]))
        for turn in data["turns"]
    )
    return Script(turns, data["declare"], data["policy"], _script(data["second"]) if data["second"] else None)


def past_the_cap(limit: int) -> tuple[int, ...]:
    """Return blocks that end beyond a limit: a touch, then what makes 64 equal steps to it, and a quarter more.

    Example:
        >>> blocks = past_the_cap(2 * GIB)
        >>> blocks[0] + blocks[1], sum(blocks[:65]), sum(blocks) > 2 * GIB
        (33554432, 2147483648, True)
    """
    step = max(2 * MIB, limit // 64 // MIB * MIB)
    return (TOUCH, step - TOUCH, *[step] * (limit * 5 // 4 // step))
