"""A marked test, seen from the run that it belongs to: started in its own process, reported as if it ran here."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.gpus import SimulatedGpus
from gpumem_simgpu.program import Finished, run_program
from gpumem_simgpu.pytest_options import command_line, values_to_hand_over

# The process's own pytest must not read these; they belong to this run.
_NOT_INSIDE = ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST")


def run_in_own_process(item: pytest.Item, nextitem: pytest.Item | None, mark: pytest.Mark) -> None:
    """Run one marked test and hand its reports to this run's plugins."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in (*_reports(item, mark), *_tear_down_what_others_left(item, nextitem)):
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _reports(item: pytest.Item, mark: pytest.Mark) -> list[pytest.TestReport]:
    start = time.time()
    # What is raised here, such as by a plugin's time limit, becomes this test's error as elsewhere.
    reports: list[pytest.TestReport] = []
    call = pytest.CallInfo.from_call(
        lambda: reports.extend(_run(item, mark)), "setup", reraise=_what_ends_the_run(item)
    )
    if call.excinfo is None:
        # The start of the interpreter belongs to the test: it is what --durations is asked about.
        reports[0].duration += max(0.0, time.time() - start - sum(one.duration for one in reports))
    elif call.excinfo.errisinstance(SimulationError):
        reports = [_error(item, "setup", f"the simulation is not possible: {call.excinfo.value}")]
    else:
        reports = [pytest.TestReport.from_item_and_call(item, call)]
    for report in reports:
        # Plugins that distribute tests know them by these alone.
        report.nodeid, report.location = item.nodeid, item.location
    return reports


def _what_ends_the_run(item: pytest.Item) -> tuple[type[BaseException], ...]:
    ending: tuple[type[BaseException], ...] = (pytest.exit.Exception,)
    return ending if item.config.getoption("usepdb", default=False) else (*ending, KeyboardInterrupt)


def _tear_down_what_others_left(item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
    """End the fixtures of this item's module and class that no later test needs, as running it here would.

    An earlier test that did run here left them for this one. pytest offers no public call for it; plugins that
    run a test again call the same method.
    """
    state = item.session._setupstate
    call = pytest.CallInfo.from_call(
        lambda: state.teardown_exact(nextitem), "teardown", reraise=_what_ends_the_run(item)
    )
    return [] if call.excinfo is None else [pytest.TestReport.from_item_and_call(item, call)]


@dataclass(frozen=True)
class _Inside:
    """What the process of the test left behind."""

    finished: Finished
    reports: tuple[pytest.TestReport, ...]
    collection_error: str


def _run(item: pytest.Item, mark: pytest.Mark) -> Iterator[pytest.TestReport]:
    gpus = _described_by(mark)
    with tempfile.TemporaryDirectory(prefix="gpumem-simgpu-test-") as folder:
        inside = _start(item, gpus, Path(folder))
    hint = _debugging_hint(item, mark)
    for report in inside.reports:
        if report.failed and hint:
            report.sections.append(("Debugging", hint))
        yield report
    finished = inside.finished
    if inside.collection_error:
        yield _error(item, "setup", inside.collection_error, finished)
    elif not any(report.when == "teardown" for report in inside.reports):
        if finished.returncode == pytest.ExitCode.INTERRUPTED and item.config.getoption("capture", "fd") == "no":
            # Ctrl-C at the terminal reached that process too.
            raise KeyboardInterrupt
        begun = any(report.when == "setup" and report.passed for report in inside.reports)
        yield _error(item, "call" if begun else "setup", _ending(finished.returncode), finished)


def _described_by(mark: pytest.Mark) -> SimulatedGpus:
    try:
        return SimulatedGpus(*mark.args, **mark.kwargs)
    except TypeError as error:
        message = f"@pytest.mark.{mark.name} takes the arguments of SimulatedGpus: {error}"
        raise SimulationError(message) from None


def _start(item: pytest.Item, gpus: SimulatedGpus, folder: Path) -> _Inside:
    config = item.config
    (folder / "options.json").write_text(json.dumps(values_to_hand_over(config)), encoding="utf-8")
    base = {name: value for name, value in os.environ.items() if name not in _NOT_INSIDE}
    environment = gpus.for_command(sys.executable).environment(base, folder / "log")
    environment.setdefault("SIMGPU_STATE", str(folder / "state"))
    streamed = config.getoption("capture", "fd") == "no"
    finished = run_program(command_line(item, folder), environment, config.invocation_params.dir, stream=streamed)
    records = list(_records(folder / "reports"))
    return _Inside(
        finished,
        tuple(_report(config, one["report"]) for one in records if "report" in one),
        "\n".join(one["collection"] for one in records if "collection" in one),
    )


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    # A process that was killed leaves its last line without an end.
    for line in text.split("\n")[:-1]:
        yield json.loads(line)


def _report(config: pytest.Config, data: Mapping[str, Any]) -> pytest.TestReport:
    report = config.hook.pytest_report_from_serializable(config=config, data=dict(data))
    assert isinstance(report, pytest.TestReport)
    # JSON has no tuples, and the summary of skipped tests insists on one.
    shown: object = report.longrepr
    if isinstance(shown, list):
        file, line, reason = shown
        report.longrepr = (file, line, reason)
    report.sections = [(name, text) for name, text in report.sections]
    report.user_properties = [(name, value) for name, value in report.user_properties]
    return report


def _error(item: pytest.Item, when: str, message: str, finished: Finished | None = None) -> pytest.TestReport:
    printed = () if finished is None else (("stdout", finished.stdout), ("stderr", finished.stderr))
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords=dict.fromkeys(item.keywords, 1),
        outcome="failed",
        longrepr=message,
        when=when,  # type: ignore[arg-type]
        sections=[(f"Captured {name} of the test's process", text) for name, text in printed if text],
    )


def _ending(code: int) -> str:
    if code < 0:
        how = f"was ended by {signal.Signals(-code).name}"
    elif code == pytest.ExitCode.NO_TESTS_COLLECTED:
        return (
            "the test was not found in its own process: something there deselected it, or its name depends on "
            "the devices"
        )
    else:
        how = f"ended with exit code {int(code)}"
    return f"the test's process on the simulated devices {how} before the test was over"


def _debugging_hint(item: pytest.Item, mark: pytest.Mark) -> str:
    """Return how to debug a marked test, for those who asked for a debugger; it cannot stop in another process."""
    if not item.config.getoption("usepdb", default=False):
        return ""
    devices = mark.args[0] if mark.args else mark.kwargs.get("devices", SimulatedGpus.devices)
    command = ["python", "-m", "gpumem_simgpu", "run", "--devices", str(devices), "--log", "log.jsonl", "--"]
    command += ["python", "-m", "pytest", "--simulated-here", "--pdb", item.nodeid]
    return (
        "This test ran in a process of its own, where --pdb cannot stop. Start a debugger on the devices with\n"
        f"    {shlex.join(command)}"
    )
