"""A test that writes down its process and then takes very long."""

import os
import time
from pathlib import Path

import pytest


@pytest.mark.simulated_gpus
def test_sleeps():
    Path("pid").write_text(f"{os.getpid()}\n", encoding="utf-8")
    time.sleep(60)
