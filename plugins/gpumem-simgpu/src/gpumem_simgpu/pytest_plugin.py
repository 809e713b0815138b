"""The pytest plugin: the fixtures ``simulated_gpus`` and ``simulated_log``, and the marker ``simulated_gpus``.

It is loaded in every test run of an environment that has this package, so it imports nothing before a test asks.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gpumem_simgpu.gpus import SimulatedGpus
    from gpumem_simgpu.memory_log import SimulatedLog

MARKER = "simulated_gpus"
_MARKER_LINE = (
    f'{MARKER}(devices="2x16GiB", **fields): run this test in a fresh interpreter on these simulated devices; '
    "the arguments are those of gpumem_simgpu.SimulatedGpus"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option with which a marked test runs where it is, as it does in its own process."""
    group = parser.getgroup("simulated GPUs")
    group.addoption(
        "--simulated-here",
        action="store_true",
        help=f"run tests marked {MARKER} in this process, which is on simulated devices already "
        "(python -m gpumem_simgpu run -- python -m pytest --simulated-here ...), such as to debug them",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and refuse to run marked tests here on devices that are not simulated."""
    config.addinivalue_line("markers", _MARKER_LINE)
    if config.getoption("simulated_here") and "SIMGPU_DEVICES" not in os.environ:
        message = (
            "--simulated-here: this process is not on simulated devices; start it with "
            "python -m gpumem_simgpu run --devices 2x16GiB -- python -m pytest --simulated-here"
        )
        raise pytest.UsageError(message)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a marked test in a process of its own, with all its fixtures, and report what came of it."""
    mark = item.get_closest_marker(MARKER)
    if mark is None or item.config.getoption("simulated_here"):
        return None
    from gpumem_simgpu.pytest_outside import run_in_own_process

    run_in_own_process(item, nextitem, mark)
    return True


@pytest.fixture(scope="session")
def simulated_gpus() -> type[SimulatedGpus]:
    """``simulated_gpus("2x16GiB", **fields)`` describes devices; its ``run([...])`` runs a program on them."""
    from gpumem_simgpu.gpus import SimulatedGpus

    return SimulatedGpus


@pytest.fixture
def simulated_log(request: pytest.FixtureRequest) -> SimulatedLog:
    """What this test has asked of its simulated devices so far: ``requests()``, ``peak()``, ``refused()``, ..."""
    from gpumem_simgpu.memory_log import SimulatedLog

    if not request.config.getoption("simulated_here"):
        pytest.fail(f"the fixture simulated_log is for tests that are marked @pytest.mark.{MARKER}(...)", pytrace=False)
    if "SIMGPU_LOG" not in os.environ:
        pytest.fail("there is no log to read: start the run with --log FILE", pytrace=False)
    return SimulatedLog(Path(os.environ["SIMGPU_LOG"]))
