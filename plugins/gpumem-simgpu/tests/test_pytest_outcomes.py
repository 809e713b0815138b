"""A marked test of somebody's suite: where it runs, and how its end is told."""

from __future__ import annotations

from typing import Any

import pytest

pytest_plugins = ["pytester"]


def test_a_marked_test_runs_on_the_devices(suite: Any) -> None:
    """It sees their memory and the log that it writes; others are where they were, and may run programs there."""
    suite.add("on_devices.py")
    suite.add_program("devices_by_ctypes.py")
    suite.add_program("fill.py")

    assert suite.run().parseoutcomes() == {"passed": 3}


def test_outcomes_are_those_of_the_test_itself(suite: Any) -> None:
    """Failed with its own traceback and output, skipped with its reason, xfail, errors of fixtures."""
    suite.add("outcomes.py")

    result = suite.run("-rsx")

    assert result.parseoutcomes() == {"failed": 2, "passed": 2, "skipped": 1, "xfailed": 1, "errors": 2}
    result.stdout.fnmatch_lines_random(
        [
            '>       assert len(os.environ["SIMGPU_DEVICES"]) == wanted',
            "E       AssertionError: assert 4 == 5",
            "*Captured stdout call*",
            "said by the test",
            "*XPASS(strict)*known*",
            "*ERROR at setup of test_error*",
            "*ERROR at teardown of test_teardown*",
            "E       ValueError: no fixture",
            "E       ValueError: no end",
            "SKIPPED * a reason",
            "XFAIL * - known",
        ]
    )


def test_parameters_fixtures_and_classes(suite: Any) -> None:
    """Each test has its process, and there all the fixtures that it has elsewhere; the marker may stand anywhere."""
    suite.add("shapes.py")
    suite.add("shapes_conftest.py", "conftest.py")

    assert suite.run("--kind=mine", f"--basetemp={suite.path / 'temporary'}").parseoutcomes() == {"passed": 5}


def test_fixtures_of_tests_before_end_in_time(suite: Any) -> None:
    """The next module begins when the last one has ended, and what is not captured is seen at once."""
    suite.add("leaves_fixtures.py", "test_one.py")
    (suite.path / "test_two.py").write_text("def test_after():\n    print('after')\n")

    result = suite.run("-s", "-q", own_process=True)

    assert result.parseoutcomes() == {"passed": 3}
    said = [
        line.lstrip(".") for line in result.outlines if line.lstrip(".").split(" ")[0] in ("end", "after", "spoken")
    ]
    assert said == ["spoken", "end in its own process", "end in this process", "after"]


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ('simulated_gpus("2x16")', 'devices: "16" is a number of bytes'),
        ('simulated_gpus("2xT5")', 'devices: "T5" is neither a size nor a profile'),
        ("simulated_gpus(nvlm=1)", "@pytest.mark.simulated_gpus takes the arguments of SimulatedGpus"),
    ],
)
def test_where_it_is_not_possible_is_an_error(suite: Any, marker: str, said: str) -> None:
    """One sentence, never a skip."""
    suite.pytester.makepyfile(f"import pytest\n\n@pytest.mark.{marker}\ndef test_marked():\n    pass\n")

    result = suite.run()

    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines([f"the simulation is not possible: {said}*"])


def test_another_platform_is_an_error(suite: Any) -> None:
    """One sentence from the machine that has no simulated devices."""
    suite.add("sleeps.py")
    suite.pytester.makeconftest("import platform\n\nplatform.machine = lambda: 'aarch64'\n")

    result = suite.run(own_process=True)

    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["the simulation is not possible: *needs 64-bit Linux on x86-64*aarch64*"])


def test_a_test_that_ends_its_process_has_failed(suite: Any) -> None:
    """With what the process said last; the run goes on."""
    suite.add("ends_its_process.py")

    result = suite.run("-p", "no:faulthandler", "--capture=sys")

    assert result.parseoutcomes() == {"failed": 2, "passed": 1}
    result.stdout.fnmatch_lines(
        ["*was ended by SIGKILL before the test was over", "*ended with exit code 3 before the test*", "*last words*"]
    )


def test_a_test_that_is_not_there_inside_is_an_error(suite: Any) -> None:
    """Its module behaves differently on the devices: it cannot be imported, or it has no such test."""
    suite.add("not_inside.py")
    suite.add("named_by_devices.py")

    result = suite.run()

    assert result.parseoutcomes() == {"errors": 2}
    result.stdout.fnmatch_lines_random(
        ["*ImportError: not with devices", "*test_named_by_devices.py::test_marked?None?*"]
    )


def test_the_log_is_for_marked_tests(suite: Any) -> None:
    """Elsewhere there is none."""
    suite.pytester.makepyfile("def test_plain(simulated_log):\n    pass\n")

    result = suite.run()

    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*simulated_log is for tests that are marked @pytest.mark.simulated_gpus*"])
