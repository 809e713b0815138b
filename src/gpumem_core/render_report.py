"""A report as text for people: about a dozen lines."""

from __future__ import annotations

from collections.abc import Sequence

from gpumem_core.model.report import Report, Row, for_people
from gpumem_core.sizes import human

_MARKS = {
    "in_force": "in force",
    "pending": "pending",
    "planned": "planned",
    "not_expressed": "not expressed",
    "not_applicable": "not applicable",
    "differs": "DIFFERS",
    "exceeded": "EXCEEDED",
    "failed": "FAILED",
    "late": "TOO LATE",
    "unknown": "unknown",
}


def render(report: Report) -> str:
    """Return the report as text."""
    lines = [f"policy   {_policy(report)}"]
    if report.devices:
        lines.append(f"devices  {', '.join(_device(device) for device in report.devices)}")
    # What would be done is worth a line even where it cannot be done here.
    rows = [row for row in report.rows if row.state != "not_applicable" or row.set]
    told: set[tuple[str, str]] = set()
    table = [_cells(row) for row in rows]
    widths = [max((len(cells[column]) for cells in table), default=0) for column in range(4)]
    for row, cells in zip(rows, table, strict=True):
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        lines.append(line)
        if row.why and row.state != "in_force" and (row.framework, row.why) not in told:
            told.add((row.framework, row.why))
            lines.append(f"         {row.why}")
    lines += [f"note     {note}" for note in report.notes]
    return "\n".join(lines)


def _policy(report: Report) -> str:
    if not report.policy:
        return "none declared"
    return ", ".join(f"{key}={for_people(entry['value'])} ({entry['origin']})" for key, entry in report.policy.items())


def _device(device: object) -> str:
    assert isinstance(device, dict)
    total = device["total"]
    size = human(total) if isinstance(total, int) else "unknown total"
    name = f" {device['name']}" if device["name"] else ""
    source = {"cuda": "as CUDA says", "nvml": "as NVML says", "assumed": ""}.get(str(device["source"]), "")
    return f"{device['ordinal']}:{name} {size}" + (f" ({source})" if source else "")


def _cells(row: Row) -> Sequence[str]:
    where = row.framework if row.device is None else f"{row.framework}:{row.device}"
    value = f"{row.field}={row.asked}"
    in_force = f" = {for_people(row.in_force)}" if row.in_force is not None and row.state != "planned" else ""
    strength = f", {row.strength} {row.scope}" if row.strength and row.scope else ""
    return (where, value, _MARKS[row.state] + in_force, f"{row.set or ''}{strength}  [{row.origin}]".strip())
