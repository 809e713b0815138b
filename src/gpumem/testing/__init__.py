"""The compliance kit for plugin authors, and small things for tests of programs that use gpumem.

>>> from gpumem.testing import PluginContract
>>> class TestNumbatContract(PluginContract):
...     plugin_name = "numbat"

Importing this package needs pytest only for `PluginContract`.
"""

from __future__ import annotations

from gpumem.testing.contract import PluginContract
from gpumem.testing.fresh_python import FreshRun, fresh_python
from gpumem.testing.policy_cases import POLICY_CASES, PolicyCase, budgets_and_settings
from gpumem.testing.recorded_progress import RecordedProgress

__all__ = [
    "POLICY_CASES",
    "FreshRun",
    "PluginContract",
    "PolicyCase",
    "RecordedProgress",
    "budgets_and_settings",
    "fresh_python",
]
