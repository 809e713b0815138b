"""Whether a policy holds for a framework, from what a trial saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from gpumem.plugin import human
from gpumem_core.model.report import for_people
from gpumem_tools.trial.launch import Launched, ending
from gpumem_tools.trial.record import Row, Taken

Verdict = Literal["holds", "does not hold", "said so before", "could not be tested", "no cap asked", "hidden"]
FINDINGS: Final[frozenset[str]] = frozenset({"does not hold", "said so before", "could not be tested"})
"""The verdicts that make ``gpumem prove`` end with 3."""

SMALL: Final = 64 << 20
"""Under growth nobody takes more than this for a first block of 1 MiB."""

LIMITS: Final = ("cap", "fraction", "headroom")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about one framework.

    Attributes:
        framework: its name.
        title: its name for people.
        version: its version, empty where that is unknown.
        asked: the limit as declared, with its field.
        limit: that in bytes, None for no limit.
        set: what was set, in the framework's own terms.
        reached: most bytes that its allocator is known to have held.
        source: who says so.
        refused: bytes of the block that was refused, 0 for none.
        error: what the refusal said.
        verdict: the verdict.
        why: a sentence where the verdict needs one.
        said: what else gpumem said, before the program ran, that the framework cannot do.
    """

    framework: str
    title: str
    version: str
    asked: str = ""
    limit: int | None = None
    set: str = ""
    reached: int | None = None
    source: str = ""
    refused: int = 0
    error: str = ""
    verdict: Verdict = "could not be tested"
    why: str = ""
    said: tuple[str, ...] = ()

    @property
    def bad(self) -> bool:
        """Whether this is a finding."""
        return self.verdict in FINDINGS


def judge(framework: str, title: str, version: str, launched: Launched) -> Finding:
    """Return what a trial of one framework says about the policy."""
    taken = next((one for one in launched.record.taken if one.framework == framework), None)
    if launched.record.policy_refused:
        kind, text = launched.record.policy_refused
        verdict: Verdict = "said so before" if kind == "UnsupportedPolicyError" else "could not be tested"
        return Finding(framework, title, version, verdict=verdict, why=f"{kind}: {text}")
    if taken is None:
        return Finding(framework, title, version, why=ending(launched))
    limits = [row for row in taken.told if row["field"] in LIMITS]
    reached, source = _reached(taken, launched)
    verdict, why = _verdict(taken, limits, reached, launched)
    return Finding(
        framework,
        title,
        version,
        ", ".join(f"{row['field']}={row['asked']}" for row in limits),
        taken.limit,
        "; ".join(str(row["set"]) for row in limits if row["set"]),
        reached,
        source,
        0 if verdict == "hidden" else taken.refused,
        taken.error,
        verdict,
        why,
        tuple(
            f"{row['field']}={row['asked']} is not expressed: {row['why']}"
            for row in taken.told
            if row["state"] == "not_expressed" and row["field"] not in LIMITS
        ),
    )


def _reached(taken: Taken, launched: Launched) -> tuple[int | None, str]:
    """Return the most that the allocator is known to have held, and who says so."""
    known = {"the blocks that it was granted": sum(taken.granted)}
    if taken.held is not None:
        known["its own numbers"] = taken.held
    if launched.run is not None:
        known["the simulated device's log"] = launched.run.peak(0, taken.framework, taken.pid)
    source = max(known, key=lambda name: known[name])
    return (known[source], source) if taken.granted or known[source] else (None, "")


def _verdict(taken: Taken, limits: list[Row], reached: int | None, launched: Launched) -> tuple[Verdict, str]:
    if taken.hidden:
        if taken.granted:
            return "does not hold", f"all GPUs are hidden from it, and it was granted {human(sum(taken.granted))}"
        return "hidden", "it gets no GPU, as the policy asks"
    broken = next((row for row in taken.told if row["field"] == "plugin"), None)
    if broken is not None:
        return "could not be tested", broken["why"]
    missing = next((row for row in limits if row["state"] == "not_expressed"), None)
    if missing is not None:
        return "said so before", missing["why"]
    if taken.error and not taken.out_of_memory:
        return "could not be tested", taken.error
    if not taken.over or launched.returncode != 0:
        return "could not be tested", ending(launched)
    if taken.limit is None:
        return _without_limit(taken)
    return _of_limit(taken, taken.limit, reached or 0)


def _of_limit(taken: Taken, limit: int, reached: int) -> tuple[Verdict, str]:
    if reached > limit:
        return "does not hold", f"it held {human(reached)}, {human(reached - limit)} more than its limit"
    if not taken.refused:
        return "could not be tested", "nothing was refused, and nothing beyond the limit was granted"
    if reached < limit - taken.refused and taken.free is not None and taken.free < taken.refused:
        return (
            "could not be tested",
            f"the card itself was full at {human(reached)}: free some memory, or lower the cap",
        )
    bad = [row for row in taken.rows if row["state"] in ("differs", "exceeded", "failed", "late")]
    if bad:
        return "does not hold", "; ".join(_sentence(row) for row in bad)
    ahead = _ahead(taken)
    if ahead:
        return "does not hold", ahead
    return (
        "holds",
        f"refused within its limit, {human(limit - reached)} below it" if limit - reached > limit // 8 else "",
    )


def _without_limit(taken: Taken) -> tuple[Verdict, str]:
    ahead = _ahead(taken)
    return ("does not hold", ahead) if ahead else ("no cap asked", "")


def _ahead(taken: Taken) -> str:
    """Return a sentence if memory was taken ahead although the policy asks for growth."""
    grows = any(row["field"] == "preallocate" and str(row["asked"]).lower() == "false" for row in taken.told)
    if grows and taken.first_taken is not None and taken.first_taken > SMALL:
        return f"growth is asked, and it took {human(taken.first_taken)} for its first 1 MiB"
    return ""


def _sentence(row: Mapping[str, Any]) -> str:
    in_force = "" if row["in_force"] is None else f", in force {for_people(row['in_force'])}"
    return f"{row['field']}={row['asked']} {row['state'].replace('_', ' ')}{in_force}: {row['why']}"
