"""The scenes of the demo: what is asked of whom, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from gpumem_core.sizes import exact
from gpumem_tools.frameworks import Tryable
from gpumem_tools.trial.launch import Launched
from gpumem_tools.trial.record import Row
from gpumem_tools.trial.script import MIB, TOUCH, Script

BLOCK: Final = 512 * MIB
SMALL: Final = 64 * MIB
"""Under growth nobody takes more than this for a first block of 1 MiB."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one framework did in a process of a scene.

    Attributes:
        title: the framework, with the process where there are two.
        framework: its name.
        wanted: bytes that it asked for in all.
        granted: bytes that it got.
        first_taken: bytes that it took from the card for its first block of 1 MiB, None where that is unknown.
        held: bytes that its allocator held at most, by the device's own log.
        error: what the refusal said, empty for none.
        rows: its rows of the report at the end.
    """

    title: str
    framework: str
    wanted: int
    granted: int
    first_taken: int | None
    held: int
    error: str = ""
    rows: tuple[Row, ...] = ()

    @property
    def starved(self) -> bool:
        """Whether it did not get what it asked for."""
        return self.granted < self.wanted

    @property
    def idle(self) -> int:
        """Bytes that its allocator held without having been asked for them."""
        return max(0, self.held - self.granted)


@dataclass(frozen=True, slots=True)
class Scene:
    """One or two processes on a fresh card.

    Attributes:
        title: what happens, in words.
        policy: the arguments of `gpumem.configure`, None where the frameworks are left as they are.
        total: bytes of the card.
        parts: what each framework did, in turn.
        trouble: what went wrong with the scene itself, empty for nothing.
    """

    title: str
    policy: Mapping[str, Any] | None
    total: int
    parts: tuple[Part, ...] = ()
    trouble: str = ""

    @property
    def starved(self) -> tuple[Part, ...]:
        """The parts that did not get what they asked for."""
        return tuple(part for part in self.parts if part.starved)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is asked on a card.

    Attributes:
        total: bytes of the card.
        cap: bytes that the policy lets each framework hold.
        blocks: what each framework asks for, in turn: a touch, then blocks until it has three quarters of the cap.
    """

    total: int
    cap: int
    blocks: tuple[int, ...]

    @property
    def wanted(self) -> int:
        """Bytes that each framework asks for in all."""
        return sum(self.blocks)

    @property
    def policy(self) -> dict[str, Any]:
        """The cure, as arguments of `gpumem.configure`."""
        return {"cap": exact(self.cap), "growth": True}


def plan_for(total: int, frameworks: int) -> Plan:
    """Return a plan under which everybody fits: equal caps for all, or for two processes.

    Example:
        >>> plan = plan_for(16 << 30, 4)
        >>> plan.cap >> 30, plan.wanted >> 30
        (4, 3)
    """
    cap = total // max(frameworks, 2) // MIB * MIB
    block = min(BLOCK, max(2 * MIB, cap // 8 // MIB * MIB))
    # The touch is taken out of the first block, so that the sum is a round number.
    return Plan(total, cap, (TOUCH, block - TOUCH, *[block] * (cap * 3 // 4 // block - 1)))


def script_of(
    frameworks: Sequence[Tryable], plan: Plan, policy: Mapping[str, Any] | None, *, processes: int = 1
) -> Script:
    """Return the script in which each framework takes its turn, in each of the processes."""
    turns = tuple(replace(framework.turn, blocks=plan.blocks) for framework in frameworks)
    second = script_of(frameworks, plan, policy, processes=processes - 1) if processes > 1 else None
    return Script(turns, "nothing" if policy is None else "arguments", policy, second)


def scene_of(scene: Scene, frameworks: Sequence[Tryable], plan: Plan, launched: Launched, processes: int) -> Scene:
    """Return a scene with what became of it."""
    record = launched.record
    titles = {framework.name: framework.title for framework in frameworks}
    parts = []
    for one in record.taken:
        title = titles[one.framework] + (f", process {one.process + 1}" if processes > 1 else "")
        held = launched.run.peak(0, one.framework, one.pid) if launched.run else one.held
        parts.append(
            Part(
                title,
                one.framework,
                plan.wanted,
                sum(one.granted),
                one.first_taken,
                held or 0,
                one.error,
                one.rows,
            )
        )
    return replace(scene, parts=tuple(parts), trouble=_trouble(launched, len(frameworks) * processes))


def _trouble(launched: Launched, expected: int) -> str:
    from gpumem_tools.trial.launch import ending

    record = launched.record
    if record.policy_refused:
        return "{}: {}".format(*record.policy_refused)
    strange = [one for one in record.taken if one.error and not one.out_of_memory]
    if strange:
        return f"{strange[0].framework} failed with an error that is not about memory: {strange[0].error}"
    if launched.returncode != 0 or len(record.taken) < expected or not all(one.over for one in record.taken):
        return ending(launched)
    return ""
