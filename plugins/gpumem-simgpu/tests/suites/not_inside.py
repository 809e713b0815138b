"""A module that cannot be imported on the devices."""

import os

import pytest

if "SIMGPU_DEVICES" in os.environ:
    raise ImportError("not with devices")


@pytest.mark.simulated_gpus
def test_marked():
    pass
