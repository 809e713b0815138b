"""Parameters, classes, unittest, subtests, and an option of a conftest file."""

import os
import unittest

import pytest


@pytest.mark.parametrize(
    "size",
    ["1GiB", pytest.param("2GiB", marks=pytest.mark.simulated_gpus("1x2GiB"), id="a [strange]::name")],
)
def test_parameter(size, kind):
    assert os.environ.get("SIMGPU_DEVICES", "1GiB") == size
    assert kind == "mine"


@pytest.mark.simulated_gpus("1x3GiB")
class TestClass:
    @pytest.fixture(autouse=True)
    def held(self):
        self.held = os.environ["SIMGPU_DEVICES"]

    def test_method(self, tmp_path):
        assert self.held == "3GiB"
        (tmp_path / "file").touch()

    @pytest.mark.simulated_gpus
    def test_own_marker(self):
        assert self.held == "2x16GiB"


@pytest.mark.simulated_gpus("1x4GiB")
class TestCase(unittest.TestCase):
    def setUp(self):
        self.held = os.environ["SIMGPU_DEVICES"]

    def test_method(self):
        assert self.held == "4GiB"
