"""What users write, checked with mypy --strict. It is never run."""

from __future__ import annotations

from typing import assert_type

import gpumem
from gpumem import DevicePolicy, FrameworkPolicy, GpumemError, Policy, Report, Row
from gpumem.plugin import Budgets, Framework, FrameworkSettings, FrameworkState, Plan, hookimpl, register

# Every field, in the forms that the documentation shows.
policy = Policy(
    cap="8GiB",
    fraction=0.5,
    preallocate="1GiB",
    growth=True,
    allocator="pool",
    visible=[0, 1],
    headroom="512MiB",
    processes_per_device=2,
    devices={0: DevicePolicy(cap="4GiB"), "GPU-0a1b": {"fraction": 0.5}},
    frameworks={"numbat": FrameworkPolicy(cap=1 << 30, options={"x": 1}), "quokka": "hidden"},
    on_late="warn",
    on_unsupported="ignore",
    ignore=["GM204"],
)
assert_type(policy.to_dict(), dict[str, object])
assert_type(Policy.from_mapping({"cap": "8GiB"}), Policy)

report = gpumem.configure(policy, growth=False)
assert_type(report, Report)
assert_type(gpumem.configure(cap=8 << 30, frameworks={"numbat": "hidden"}), Report)
assert_type(gpumem.configure({"cap": "8GiB"}), Report)
assert_type(gpumem.configure_default(fraction="50%"), Report)
assert_type(gpumem.explain(policy, cap="4GiB"), Report)
assert_type(gpumem.report(), Report)
assert_type(gpumem.verify(require=["numbat"], strict=True), Report)
assert_type(gpumem.is_configured(), bool)
assert_type(gpumem.reset(), tuple[str, ...])
gpumem.prefer(growth=True)

assert_type(report.rows, tuple[Row, ...])
assert_type(report.ok, bool)
assert_type(report.to_json(), str)
assert_type([row.state == "in_force" for row in report.rows_of("numbat", "cap")], list[bool])

# Slips that a type checker finds; an unused ignore is an error too, so each of them is really found.
gpumem.configure(capp="8GiB")  # type: ignore[call-arg]
gpumem.configure("8GiB")  # type: ignore[arg-type]
gpumem.configure(on_late="never")  # type: ignore[arg-type]
gpumem.configure(visible=1)  # type: ignore[arg-type]
gpumem.configure(growth=[])  # type: ignore[arg-type]
Policy(cap=object())  # type: ignore[arg-type]
policy.cap = "1GiB"  # type: ignore[misc]
gpumem.no_such_name  # type: ignore[attr-defined]  # noqa: B018

try:
    gpumem.configure(cap="8GiB")
except gpumem.LateInitialisationError as late:
    assert_type([step.framework for step in late.late], list[str])
except gpumem.PolicyError as error:
    assert_type([fault.key for fault in error.faults], list[str])
except GpumemError:
    pass


class NumbatPlugin:
    """A plugin as its author writes it."""

    @hookimpl
    def gpumem_framework(self) -> Framework:
        return Framework("numbat", "Numbat")

    @hookimpl
    def gpumem_plan(self, settings: FrameworkSettings, budgets: Budgets, state: FrameworkState) -> Plan:
        assert_type(state.evidence, str)
        limit = budgets.of(0).limit_bytes
        assert_type(limit, int | None)
        return Plan(settings.framework)


register(NumbatPlugin())
