"""The process of one marked test: its reports are written to a file for the process that started it."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option by which the starting process says where it reads."""
    parser.addoption("--simulated-reports", metavar="FOLDER", help="for gpumem_simgpu.pytest_outside alone")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Take over the options of the starting process, before any plugin acts on them."""
    folder = Path(config.getoption("--simulated-reports"))
    for name, value in json.loads((folder / "options.json").read_text(encoding="utf-8")).items():
        setattr(config.option, name, value)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> Generator[None, object, object]:
    """Write down each phase after the other plugins have seen it."""
    result = yield
    _Reports.write(report)
    return result


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Write down why the test could not even be collected."""
    if report.failed:
        _Reports.line({"collection": str(report.longrepr)})


def pytest_configure(config: pytest.Config) -> None:
    """Remember where reports go."""
    _Reports.config = config
    _Reports.path = Path(config.getoption("--simulated-reports"), "reports")


class _Reports:
    """Where reports go: hooks for reports are not told of a configuration."""

    config: pytest.Config
    path: Path

    @classmethod
    def write(cls, report: pytest.TestReport) -> None:
        cls.line({"report": cls.config.hook.pytest_report_to_serializable(config=cls.config, report=report)})

    @classmethod
    def line(cls, record: Mapping[str, Any]) -> None:
        with cls.path.open("a", encoding="utf-8") as file:
            # What users attach to a report may be anything; its text is better than nothing.
            file.write(json.dumps(record, default=repr) + "\n")
