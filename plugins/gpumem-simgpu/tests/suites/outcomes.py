"""Every way in which a test can end."""

import os

import pytest

pytestmark = pytest.mark.simulated_gpus("1x1GiB")


@pytest.fixture
def broken():
    raise ValueError("no fixture")


@pytest.fixture
def breaks_afterwards():
    yield
    raise ValueError("no end")


def test_fails():
    print("said by the test")
    wanted = 5
    assert len(os.environ["SIMGPU_DEVICES"]) == wanted


def test_skips():
    pytest.skip("a reason")


@pytest.mark.skipif("SIMGPU_DEVICES" not in os.environ, reason="judged inside")
def test_is_judged_inside():
    pass


@pytest.mark.xfail(reason="known")
def test_xfail():
    raise AssertionError


@pytest.mark.xfail(reason="known", strict=True)
def test_xpass_strict():
    pass


def test_error(broken):
    pass


def test_teardown(breaks_afterwards):
    pass
