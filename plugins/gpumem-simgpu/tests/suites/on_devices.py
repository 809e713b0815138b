"""A marked test that reads its own log, one beside it, and one that runs a program."""

import os
import sys

import pytest
from devices_by_ctypes import GIB, Driver


@pytest.mark.simulated_gpus("1x4GiB", context="512MiB")
def test_marked(simulated_log):
    driver = Driver()
    assert driver.allocate(GIB)[0] == 0
    assert driver.allocate(4 * GIB)[0] == 2
    assert simulated_log.peak() == GIB + GIB // 2
    assert len(simulated_log.refused()) == 1
    driver.allocate(GIB)
    assert [one.bytes for one in simulated_log.requests()] == [GIB, 4 * GIB, GIB]


def test_unmarked():
    assert "SIMGPU_DEVICES" not in os.environ


@pytest.fixture(scope="session")
def filled(simulated_gpus):
    return simulated_gpus("1x16GiB", granularity=1).run([sys.executable, "fill.py"])


def test_program(filled):
    assert filled.returncode == 0, filled.stderr
    assert [one.bytes for one in filled.refused()] == [1]
