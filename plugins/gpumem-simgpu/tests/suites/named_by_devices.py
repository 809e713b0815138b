"""A test whose name is another on the devices."""

import os

import pytest


@pytest.mark.simulated_gpus
@pytest.mark.parametrize("size", [os.environ.get("SIMGPU_DEVICES")])
def test_marked(size):
    pass
