"""The last test is marked, and an earlier one has left the module's fixture for it."""

import os

import pytest


@pytest.fixture(scope="module", autouse=True)
def module():
    yield
    print(f"end in {'its own' if 'SIMGPU_DEVICES' in os.environ else 'this'} process")


def test_plain():
    pass


@pytest.mark.simulated_gpus("1x1GiB")
def test_marked():
    print("spoken")
