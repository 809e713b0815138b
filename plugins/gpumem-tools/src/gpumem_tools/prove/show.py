"""The findings in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from gpumem.plugin import human
from gpumem_tools.console import plain_table
from gpumem_tools.prove.judge import Finding, Verdict

STYLES: dict[Verdict, str] = {
    "holds": "green",
    "does not hold": "bold red",
    "said so before": "yellow",
    "could not be tested": "yellow",
    "no cap asked": "dim",
    "hidden": "green",
}
WORDS: dict[Verdict, str] = {"said so before": "not held, as gpumem said before the program ran"}


def show(console: Console, where: str, policy: str, findings: Sequence[Finding], notes: Sequence[str]) -> None:
    """Print where it was tested, the policy, a line for each framework, and what the lines mean."""
    console.print(Text(where, style="bold"))
    console.print(f"policy: {policy}")
    console.print()
    table = plain_table()
    for head, justify in (
        ("framework", "left"),
        ("asked", "left"),
        ("reached", "right"),
        ("refused", "right"),
        ("result", "left"),
    ):
        table.add_column(head, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for finding in findings:
        table.add_row(
            f"{finding.title} {finding.version}".strip(),
            finding.asked or "-",
            "-" if finding.reached is None else human(finding.reached),
            f"+{human(finding.refused)}" if finding.refused else "-",
            Text(WORDS.get(finding.verdict, finding.verdict), style=STYLES[finding.verdict]),
        )
    console.print(table)
    told = [finding for finding in findings if finding.set or finding.why or finding.said]
    if told:
        console.print()
    for finding in told:
        if finding.set:
            console.print(f"{finding.title}: set {finding.set}", style="dim")
        if finding.why:
            console.print(Text(f"{finding.title}: {finding.why}", style=STYLES[finding.verdict]))
        for sentence in finding.said:
            console.print(Text(f"{finding.title}: {sentence}", style="yellow"))
    for note in notes:
        console.print(f"note: {note}", style="dim")
    console.print()
    console.print(Text(summary(findings), style="bold"))


def summary(findings: Sequence[Finding]) -> str:
    """Return the last line."""
    bad = [finding.title for finding in findings if finding.bad]
    if not bad:
        return "The policy holds for every framework here."
    good = len(findings) - len(bad)
    return f"Not proved for {', '.join(bad)}" + (f"; it holds for the other {good}." if good else ".")
