"""The conftest file of shapes.py."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--kind", default="none")


@pytest.fixture(scope="session")
def kind(request):
    return request.config.getoption("--kind")
