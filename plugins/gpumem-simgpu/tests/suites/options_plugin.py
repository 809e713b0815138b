"""A plugin that options.py needs."""

import pytest


@pytest.fixture
def from_plugin():
    return 7
