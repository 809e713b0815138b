"""The policies that every plugin is asked to plan, each on several machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpumem_core.devices.assumed import parse_assumed
from gpumem_core.divide_budget import BudgetDivider
from gpumem_core.model.budget import Budgets
from gpumem_core.model.device import Devices
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.plan import NotExpressed
from gpumem_core.model.read_table import read_table
from gpumem_core.model.settings import FrameworkSettings
from gpumem_core.resolve_policy import settle

NO_DEVICES = Devices(why="the devices were not asked for")


@dataclass(frozen=True, slots=True)
class PolicyCase:
    """One policy on one machine.

    Attributes:
        name: for the test report.
        policy: the policy as a table; ``frameworks`` keys written as ``*`` stand for the plugin's framework.
        devices: the machine, as `GPUMEM_ASSUME_DEVICES` has it; empty for unknown devices.
        asks: the fields that a plan must express or list.
    """

    name: str
    policy: Mapping[str, object]
    devices: str = "2x16GiB"
    asks: frozenset[str] = field(default_factory=frozenset)


def _case(name: str, asks: str, devices: str = "2x16GiB", **policy: object) -> PolicyCase:
    return PolicyCase(name, policy, devices, frozenset(asks.split()))


POLICY_CASES: tuple[PolicyCase, ...] = (
    _case("a cap", "limit", cap="4GiB"),
    _case("an odd cap", "limit", cap=1234567891),
    _case("a cap with growth", "limit preallocate", cap="4GiB", growth=True),
    _case("a cap taken ahead", "limit preallocate", cap="4GiB", preallocate=True),
    _case("a size taken ahead", "limit preallocate", cap="4GiB", preallocate="1GiB"),
    _case("a fraction", "limit", fraction=0.3),
    _case("a cap and a fraction", "limit", cap="12GiB", fraction=0.5),
    _case("growth alone", "preallocate", growth=True),
    _case("a percentage", "limit", cap="25%"),
    PolicyCase(
        "two different devices", {"devices": {0: {"cap": "2GiB"}, 1: {"cap": "4GiB"}}}, asks=frozenset({"limit"})
    ),
    _case("unequal cards", "limit", "8GiB,16GiB", fraction=0.5),
    _case("a cap on unequal cards", "limit", "8GiB,16GiB", cap="4GiB"),
    _case("a cap on unknown devices", "limit", "", cap="4GiB"),
    _case("a fraction on unknown devices", "limit", "", fraction=0.25),
    _case("the pool allocator", "allocator", allocator="pool"),
    _case("the async allocator", "allocator", allocator="async"),
    _case("the direct allocator", "allocator", allocator="direct"),
    _case("the vmm allocator", "allocator", allocator="vmm"),
    _case("the managed allocator", "allocator", allocator="managed"),
    _case("the async allocator under a cap", "limit allocator", cap="4GiB", allocator="async"),
    _case("the direct allocator under a cap", "limit allocator", cap="4GiB", allocator="direct"),
    _case("the managed allocator under a cap", "limit allocator", cap="4GiB", allocator="managed"),
    _case("hidden", "visible", frameworks={"*": "hidden"}),
    _case("one device visible", "visible limit", frameworks={"*": {"visible": [1], "cap": "4GiB"}}),
    _case("an unknown option", "options.no_such_option", frameworks={"*": {"options": {"no_such_option": "1"}}}),
    _case("no limit, explicitly", "", cap="none"),
)
"""Cases for `PluginContract`. Every case of the support tables is among them."""


def budgets_and_settings(
    case: PolicyCase, framework: str
) -> tuple[FrameworkSettings, Budgets, tuple[NotExpressed, ...]]:
    """Return what the core gives to a plugin's `gpumem_plan` for a case.

    Example:
        >>> settings, budgets, missing = budgets_and_settings(POLICY_CASES[0], "numbat")
        >>> budgets.of(0).limit_bytes
        4294967296
    """
    table = dict(case.policy)
    frameworks = table.get("frameworks")
    if isinstance(frameworks, Mapping):
        table["frameworks"] = {framework if key == "*" else key: value for key, value in frameworks.items()}
    origin = Origin(Rank.ARGUMENTS, "test.py:1")
    declared = read_table(table, lambda _path: origin)
    assert not declared.faults, declared.faults
    devices = parse_assumed(case.devices) if case.devices else NO_DEVICES
    budgets, missing = BudgetDivider(declared.declarations, devices, {}).divide(framework)
    return settle(declared.declarations, framework), budgets, missing
