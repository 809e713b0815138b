"""Tests that say which worker ran them; the first fails."""

import os

import pytest


@pytest.mark.simulated_gpus("1x1GiB")
@pytest.mark.parametrize("number", range(3))
def test_marked(number):
    assert os.environ["SIMGPU_DEVICES"] == "1GiB"
    assert number, "here"


def test_plain():
    assert "SIMGPU_DEVICES" not in os.environ
