"""Tests that take their process with them."""

import os
import signal

import pytest


@pytest.mark.simulated_gpus
def test_killed():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.simulated_gpus
def test_exits():
    os.write(2, b"last words")
    os._exit(3)


def test_after():
    pass
