"""A run of somebody's suite that has marked tests: its options, its debugger, its workers, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib import metadata
from typing import Any

import pytest

pytest_plugins = ["pytester"]


def test_options_of_the_run_shape_the_test(suite: Any) -> None:
    """The configuration file, -W, -o, -p, addopts; but not what chooses tests or writes files."""
    suite.add("options.py")
    suite.add("options_plugin.py", "my_plugin.py")
    report = suite.path / "report.xml"
    suite.pytester.makeini(
        f"""
[pytest]
addopts = --strict-markers --junitxml={report} -k marked
markers = mine
filterwarnings = error
xfail_strict = true
"""
    )

    options = ("-p", "my_plugin", "-o", "log_level=INFO", "-W", "ignore::DeprecationWarning")
    result = suite.run(*options, own_process=True)

    assert result.parseoutcomes() == {"passed": 1, "deselected": 1}
    assert report.read_text().count("<testcase ") == 1
    assert '<property name="seen" value="7"' in report.read_text()


def test_the_first_failure_stops_the_run(suite: Any) -> None:
    """-x as everywhere."""
    suite.add("several.py")

    result = suite.run("-x")

    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["*stopping after 1 failures*"])


def test_a_debugger_cannot_stop_there_and_that_is_said(suite: Any) -> None:
    """The failure names the command that debugs it, and with its option a test runs where it is."""
    file = suite.add("several.py")
    test = f"{file.name}::test_marked[0]"

    result = suite.run("--pdb", test, own_process=True)
    here = [sys.executable, "-m", "pytest", "--simulated-here", test]
    again = suite.pytester.run(sys.executable, "-m", "gpumem_simgpu", "run", "--devices", "1x1GiB", "--", *here)

    command = "python -m gpumem_simgpu run --devices 1x1GiB --log log.jsonl -- python -m pytest --simulated-here --pdb"
    result.stdout.fnmatch_lines(["*where --pdb cannot stop*", f"*{command} *test_marked*"])
    assert again.parseoutcomes() == {"failed": 1}
    again.stdout.fnmatch_lines(["E       AssertionError: here"])


def test_without_devices_nothing_runs_here(suite: Any) -> None:
    """--simulated-here is for a process that is on them."""
    result = suite.run("--simulated-here")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--simulated-here: this process is not on simulated devices*"])


def test_workers_of_xdist(suite: Any) -> None:
    """Tests are spread over workers, and each is reported by its own name."""
    suite.add("several.py")

    result = suite.run("-n", "2", "-v", own_process=True)

    assert result.parseoutcomes() == {"passed": 3, "failed": 1}
    result.stdout.fnmatch_lines_random(["*PASSED*test_marked?1?*", "*FAILED*test_marked?0?*", "*PASSED*test_plain*"])


def test_an_interrupt_ends_the_test_and_its_process(suite: Any) -> None:
    """Nothing goes on in the background."""
    suite.add("sleeps.py")
    pid = suite.path / "pid"
    # What a shell starts in the background ignores interrupts, and so would everything that it starts.
    listening = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
        "os.execv(sys.executable, [sys.executable, '-m', 'pytest', '-p', 'no:cacheprovider'])"
    )
    argv = [sys.executable, "-c", listening]
    with subprocess.Popen(argv, cwd=suite.path, stdout=subprocess.PIPE, text=True) as running:
        while not (pid.exists() and pid.read_text().endswith("\n")) and running.poll() is None:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=60)

    assert running.returncode == pytest.ExitCode.INTERRUPTED, said
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_the_plugin_is_found_and_costs_nothing() -> None:
    """A suite that uses nothing of it loads one small module and no other of the package."""
    entries = metadata.entry_points(group="pytest11", name="gpumem_simgpu")
    assert [entry.value for entry in entries] == ["gpumem_simgpu.pytest_plugin"]
    program = "import sys, gpumem_simgpu.pytest_plugin; print(*(n for n in sys.modules if n.startswith('gpumem')))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["gpumem_simgpu", "gpumem_simgpu.pytest_plugin"]
