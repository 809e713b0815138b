"""The report of a decision, dry or as carried out."""

from __future__ import annotations

from collections.abc import Mapping

from gpumem_core.decide_policy import Decision, is_installed
from gpumem_core.devices.cuda_state import cuda_state
from gpumem_core.model.device import Devices
from gpumem_core.model.origin import Rank
from gpumem_core.model.report import Report, Row
from gpumem_core.resolve_policy import LIMIT
from gpumem_core.verify_plan import problem_rows


def build_report(decision: Decision, rows: list[Row]) -> Report:
    """Return the report with the given rows."""
    policy: dict[str, Mapping[str, object]] = {}
    limits: dict[tuple[str | None, str | None], Rank] = {}
    for item in sorted(decision.declarations, key=lambda item: item.origin.rank):
        if item.origin.rank == Rank.NATIVE:
            continue
        if item.field in LIMIT:
            # Cap and fraction are one setting: a stronger source has replaced both.
            strongest = limits.setdefault((item.framework, item.device), item.origin.rank)
            if item.origin.rank != strongest:
                continue
        policy.setdefault(item.key, {"value": _shown(item.value), "origin": str(item.origin)})
    known = decision.devices
    if known.source in {"nvml", "unknown"} and (cuda := cuda_state()).initialised:
        # The driver of this process runs by now: its own list is exact.
        known = Devices(cuda.devices, complete=True, source="cuda", driver=True)
    devices = tuple(
        {
            "ordinal": device.ordinal,
            "uuid": device.uuid,
            "name": device.name,
            "total": device.total,
            "source": known.source,
        }
        for device in known.found
    )
    notes = list(decision.notes)
    if not policy:
        notes.insert(0, "no policy is declared anywhere: nothing is applied")
    if known.why and not known.found and policy:
        notes.append(f"devices: {known.why}")
    for name, plugin in decision.registry.missing.items():
        if is_installed(name):
            notes.append(f"{name} is installed without its plugin: pip install {plugin}")
    return Report(policy, devices, (*rows, *problem_rows(decision.problems)), tuple(notes))


def _shown(value: object) -> object:
    return value if isinstance(value, bool | int | float) else (list(value) if isinstance(value, tuple) else str(value))
