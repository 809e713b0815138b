"""The real JAX on the simulated GPU: what it asks of the driver under a policy, and what verify() says of it."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.simulated.conftest import ProgramRun, RunProgram

pytestmark = pytest.mark.simulated

MIB, GIB = 1 << 20, 1 << 30
ODD = 1234567891
ODD_IN_UNITS = ODD // (2 * MIB) * (2 * MIB)
OLD = tuple(int(part) for part in version("jax").split(".")[:2]) < (0, 10)
FRACTION, PREALLOCATE = "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_PREALLOCATE"


def ask(run_program: RunProgram, policy: dict[str, Any], asks: list[list[int]], **more: Any) -> ProgramRun:
    """Run jax_ask.py with a policy for JAX alone and the sizes to allocate."""
    env = {"POLICY": json.dumps({"frameworks": {"jax": policy}} if policy else {}), **more.pop("env", {})}
    moment = more.pop("moment", "before")
    return run_program("jax_ask.py", moment, json.dumps(asks), env=env, **more)


def states(rows: dict[str, list[Any]]) -> dict[str, str]:
    return {key: row[0] for key, row in rows.items()}


def test_an_odd_cap_with_growth_holds_on_each_device(run_program: RunProgram) -> None:
    """Configured before the import: nothing is started, first touch on device 1 is 2 MiB, the cap holds on both."""
    asks = [[1, MIB], [1, GIB], [1, 256 * MIB], [0, GIB], [0, 256 * MIB]]
    result = ask(run_program, {"cap": ODD, "growth": True}, asks)
    shown = result.json
    assert shown["cuda"] == "not initialised"
    assert shown["written"][PREALLOCATE] == "false"
    assert set(states(shown["waiting"]).values()) == {"pending"}
    assert [grant is True for grant in shown["granted"]] == [True, True, False, True, False]
    assert states(shown["rows"]) == {"cap 0": "in_force", "cap 1": "in_force", "preallocate None": "in_force"}
    assert 0 < shown["rows"]["cap 1"][1] <= ODD_IN_UNITS
    assert (shown["ok"], shown["warnings"]) == (True, [])
    first = result.run.first_request(1, "jax")
    assert first is not None
    assert first.bytes == 2 * MIB
    for device in (0, 1):
        assert GIB <= result.run.peak(device, "jax") <= ODD
        assert not result.run.refused(device), "what is above the cap must not reach the driver"


def test_a_cap_taken_ahead_is_one_request_of_the_cap(run_program: RunProgram) -> None:
    """Configured after the import and before the start: one request at first touch, on that device only."""
    result = ask(run_program, {"cap": "4GiB", "preallocate": True}, [[0, MIB], [0, 5 * GIB]], moment="after")
    shown = result.json
    assert [request.bytes for request in result.run.requests(0, "jax")] == [4 * GIB]
    assert not result.run.requests(1)
    assert shown["granted"][0] is True
    assert "RESOURCE_EXHAUSTED" in shown["granted"][1]
    assert set(states(shown["rows"]).values()) == {"in_force"}
    assert [shown["rows"]["cap 0"][1], shown["rows"]["preallocate None"][1]] == [4 * GIB, True]


def test_a_fraction_reaches_jax_unconverted(run_program: RunProgram) -> None:
    """0.3 stays 0.3, JAX's own way of taking it ahead stays, and JAX rounds it up by less than 2 MiB."""
    result = ask(run_program, {"fraction": 0.3}, [[0, MIB], [0, 6 * GIB]])
    shown = result.json
    assert {name: value for name, value in shown["written"].items() if "CLIENT" in name} == {FRACTION: "0.3"}
    (taken,) = [request.bytes for request in result.run.requests(0, "jax")]
    assert 0 <= taken - int(0.3 * 16 * GIB) + 1024 < 2 * MIB + 1024
    assert shown["granted"][1] is not True
    assert shown["rows"]["fraction None"][:2] == ["in_force", 0.3]


def test_two_different_devices_and_a_size_ahead(run_program: RunProgram) -> None:
    """JAX has one fraction, 2 GiB on both although device 1 may hold 4, and takes no size ahead: both are said."""
    policy = {"devices": {"0": {"cap": "2GiB"}, "1": {"cap": "4GiB"}}, "preallocate": "1GiB"}
    result = ask(run_program, policy, [[0, MIB], [0, GIB], [1, GIB], [1, 2 * GIB]])
    shown = result.json
    assert [grant is True for grant in shown["granted"]] == [True, True, True, False]
    first = result.run.first_request(0, "jax")
    assert first is not None
    assert first.bytes == 2 * MIB
    assert max(result.run.peak(0, "jax"), result.run.peak(1, "jax")) <= 2 * GIB
    assert [shown["rows"][f"cap {device}"][:2] for device in (0, 1)] == [["in_force", 2 * GIB]] * 2
    assert "2 GiB instead of 4 GiB on device 1" in shown["rows"]["cap 1"][3]
    assert states(shown["rows"])["preallocate None"] == "not_expressed"
    assert any("GM202" in text and "preallocate" in text for text in shown["warnings"])


@pytest.mark.parametrize("moment", ["before", "after"])
def test_hidden_gpus_are_never_touched(run_program: RunProgram, moment: str) -> None:
    """Hidden by variable before the import and by configuration after it: JAX runs on the CPU, without a context."""
    result = ask(run_program, {"visible": "none", "cap": "1GiB"}, [[0, MIB]], moment=moment)
    shown = result.json
    assert (shown["platform"], shown["ok"]) == ("cpu", True)
    assert states(shown["rows"]) == {"visible None": "in_force"}
    assert not [event for event in result.run.events if event.get("api") == "context"]


def test_ordinals_are_those_the_program_sees(run_program: RunProgram) -> None:
    """CUDA_VISIBLE_DEVICES turns unequal cards round; visible and devices count as the program does."""
    policy = {"visible": [1], "devices": {"1": {"cap": "2GiB"}, "0": {"cap": "12GiB"}}, "preallocate": True}
    env = {"CUDA_VISIBLE_DEVICES": "1,0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    result = ask(run_program, policy, [[1, MIB], [1, 3 * GIB]], devices="8GiB,16GiB", env=env)
    shown = result.json
    assert shown["devices"] == [1]
    assert [request.bytes for request in result.run.requests(1, "jax")] == [2 * GIB]
    assert not result.run.requests(0)
    assert states(shown["rows"]) == {
        "cap 1": "in_force",
        "preallocate None": "in_force",
        "visible None": "in_force",
    }
    assert shown["written"][FRACTION] == "0.25", "the 8 GiB card is device 1 of this program"


def test_unequal_cards_and_a_larger_total_of_nvml_never_exceed_the_cap(run_program: RunProgram) -> None:
    """Which card is which is unknown before CUDA runs; at JAX's start the fraction is made from the driver's totals."""
    asks = [[0, GIB], [1, 3 * GIB], [1, 2 * GIB], [0, 4 * GIB]]
    machine = {"devices": "8GiB,16GiB", "nvml_total": "9GiB,17GiB"}
    result = ask(run_program, {"cap": "4GiB", "growth": True}, asks, **machine)
    shown = result.json
    assert [grant is True for grant in shown["granted"]] == [True, True, False, False]
    assert 3 * GIB <= result.run.peak(1, "jax") <= 4 * GIB
    assert result.run.peak(0, "jax") <= 2 * GIB, "one fraction for both"
    assert float(shown["written"][FRACTION]) <= 4 / 17
    assert shown["rows"]["cap 1"][:2] == ["in_force", 4 * GIB], "refined at the start"
    assert states(shown["rows"])["cap 0"] == "in_force"
    assert any("uncertain which card" in note for note in shown["notes"])


@pytest.mark.parametrize(
    ("more", "row"),
    [({"nvml": "unsupported"}, "cap 0"), ({"env": {"WITHOUT_NVML": "1"}}, "cap None")],
    ids=["no totals", "no NVML"],
)
def test_unknown_totals_wait_for_jaxs_own_start(run_program: RunProgram, more: dict[str, Any], row: str) -> None:
    """Without totals no variable is written; the fraction is made from the driver's totals when JAX starts."""
    result = ask(run_program, {"cap": "3GiB", "growth": True}, [[0, MIB], [0, 2 * GIB], [0, 3 * GIB]], **more)
    shown = result.json
    assert FRACTION not in shown["written"]
    assert shown["cuda"] in {"not loaded", "not initialised"}
    assert states(shown["waiting"])[row] == "pending"
    assert [grant is True for grant in shown["granted"]] == [True, True, False]
    assert result.run.peak(0, "jax") <= 3 * GIB
    assert shown["rows"][row][:2] == ["in_force", 3 * GIB]
    assert shown["ok"]


def test_async_without_a_limit_takes_nothing_ahead(run_program: RunProgram) -> None:
    """cuda_async takes three quarters of each device at its start unless it is told not to."""
    result = ask(run_program, {"allocator": "async"}, [[0, MIB], [0, GIB]])
    shown = result.json
    assert result.run.peak(0) < 2 * GIB
    assert result.run.peak(1) == 0
    assert shown["rows"]["allocator None"][:2] == ["in_force", "async"]


def test_vmm_keeps_the_cap_where_there_is_one(run_program: RunProgram) -> None:
    """JAX's vmm allocator keeps a budget and reports no statistics; older versions have none, and keep the cap too."""
    result = ask(run_program, {"cap": "2GiB", "growth": True, "allocator": "vmm"}, [[0, GIB], [0, 2 * GIB]])
    shown = result.json
    assert [grant is True for grant in shown["granted"]] == [True, False]
    assert result.run.peak(0, "jax") <= 2 * GIB
    vmm = "not_expressed" if OLD else "in_force"
    assert [states(shown["rows"])[row] for row in ("cap 0", "cap 1", "allocator None")] == ["in_force", "in_force", vmm]


def test_managed_memory_with_more_than_the_device_has(run_program: RunProgram) -> None:
    """A fraction above 1 needs managed memory and is a limit there."""
    policy = {"fraction": 1.25, "allocator": "managed", "growth": True}
    result = ask(run_program, policy, [[0, MIB]])
    shown = result.json
    assert result.run.requests(0, "jax")[0].api == "cuMemAllocManaged"
    assert shown["rows"]["fraction None"][:2] == ["in_force", 1.25]
    assert shown["rows"]["allocator None"][:2] == ["in_force", "managed"]


def test_variables_and_files_declare_a_policy_and_a_limit_beats_an_allocator(
    run_program: RunProgram, tmp_path: Path
) -> None:
    """The launcher's variable beats the project's file, and the user's own cuda_async gives way to the cap."""
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem.frameworks.jax]\ncap = "5GiB"\ngrowth = true\n')
    env = {"GPUMEM_FRAMEWORKS__JAX__CAP": "2GiB", "XLA_PYTHON_CLIENT_ALLOCATOR": "cuda_async"}
    result = ask(run_program, {}, [[0, GIB], [0, 2 * GIB]], env=env, cwd=tmp_path)
    shown = result.json
    assert [grant is True for grant in shown["granted"]] == [True, False]
    assert result.run.peak(0) <= 2 * GIB
    assert states(shown["rows"]) == {
        "cap 0": "in_force",
        "cap 1": "in_force",
        "preallocate None": "in_force",
        "allocator None": "not_expressed",
    }
    assert any("GM202" in text and "cuda_async" in text for text in shown["warnings"])
    assert shown["rows"]["cap 0"][4] == "environment GPUMEM_FRAMEWORKS__JAX__CAP"
    assert "pyproject.toml" in shown["rows"]["preallocate None"][4]


def test_the_users_own_variable_beats_a_file(run_program: RunProgram, tmp_path: Path) -> None:
    """Its newer name is kept as it is, text and all, and is verified."""
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem.frameworks.jax]\ncap = "1GiB"\n')
    env = {"XLA_CLIENT_MEM_FRACTION": "00.250"}
    result = ask(run_program, {}, [[0, MIB]], env=env, cwd=tmp_path)
    shown = result.json
    assert {name: value for name, value in shown["written"].items() if "FRACTION" in name} == env
    assert [request.bytes for request in result.run.requests(0, "jax")] == [4 * GIB]
    assert shown["rows"]["fraction None"][0] == "in_force"
    assert shown["rows"]["fraction None"][4] == "environment XLA_CLIENT_MEM_FRACTION"


def test_two_names_of_the_users_become_one(run_program: RunProgram) -> None:
    """With both names set JAX would lose the GPU; a policy for the limit leaves exactly one."""
    env = {"XLA_CLIENT_MEM_FRACTION": ".9", FRACTION: ".9"}
    result = ask(run_program, {"fraction": 0.25, "growth": True}, [[0, GIB], [0, 4 * GIB]], env=env)
    shown = result.json
    assert (shown["platform"], [grant is True for grant in shown["granted"]]) == ("gpu", [True, False])
    names = {name: value for name, value in shown["written"].items() if "FRACTION" in name}
    assert names == {"XLA_CLIENT_MEM_FRACTION": "0.25"}


def test_a_lost_gpu_is_foretold_and_explained(run_program: RunProgram) -> None:
    """A variable that JAX cannot read is refused where JAX is named and else foretold; verify() says why."""
    faulty = {FRACTION: ".XX"}
    named = ask(run_program, {"growth": True}, [[0, MIB]], env=faulty)
    assert named.run.returncode == 1
    assert "gpumem.PolicyError" in named.run.stderr
    assert f"{FRACTION}=.XX (environment {FRACTION})" in named.run.stderr
    result = ask(run_program, {}, [[0, MIB]], env={"POLICY": '{"growth": true}', **faulty})
    shown = result.json
    assert shown["platform"] == "cpu"
    assert any("GM105" in text and ".XX" in text and "runs on the CPU" in text for text in shown["warnings"])
    state, _in_force, _set, why, _origin = shown["rows"]["preallocate None"]
    assert state == "not_applicable"
    assert "Jax plugin configuration error" in why


def test_twice_and_too_late(run_program: RunProgram) -> None:
    """Equal is a no-op, different before the start replaces, and after the start it is refused with all that helps."""
    result = run_program("jax_late.py")
    shown = result.json
    assert (shown["first"], shown["same"], shown["unchanged"], shown["different"]) == ("ok", "ok", True, "ok")
    assert shown["variables"] == {FRACTION: "0.25", PREALLOCATE: "false"}
    assert shown["of the second"] == {FRACTION: "0.125", PREALLOCATE: "false"}
    assert (shown["same after the start"], shown["the same limit, said otherwise"]) == ("ok", "ok")
    for part in ("jax: ", "cap=8GiB", "jax_late.py:", "in force is", str(2 * GIB), "_backends holds", "configure()"):
        assert part in shown["late"], part
    assert "jax_late.py:6" in shown["late"], "who imported it first"
    assert "visible=none" in shown["late and hidden"]
    assert (shown["nothing changed"], shown["ignored"]) == (True, "ok")
    assert shown["rows"]["cap 0"] == ["late", 2 * GIB]


@pytest.mark.parametrize("how", ["variable"] if OLD else ["variable", "options"])
def test_verify_names_what_another_library_broke(run_program: RunProgram, how: str) -> None:
    """A library that changes the fraction between configure() and JAX's start is found out."""
    shown = run_program("jax_broken.py", how, env={"POLICY": '{"fraction": 0.25, "growth": true}'}).json
    assert shown["rows"][0][:2] == ["differs", 0.9]
    assert "0.25" in shown["rows"][0][2]
    assert not shown["ok"]
    assert "fraction" in shown["strict"]
    if how == "variable":
        assert shown["before"][0][0] == "differs"
        assert FRACTION in shown["before"][0][1]


def test_a_cap_in_bytes_holds_although_another_library_changed_the_variable(run_program: RunProgram) -> None:
    """It is set again at JAX's start, and the report says who was overruled."""
    policy = {"cap": "4GiB", "preallocate": True}
    result = run_program("jax_broken.py", "variable", env={"POLICY": json.dumps(policy)})
    assert [request.bytes for request in result.run.requests(0, "jax")] == [4 * GIB]
    assert result.json["ok"]
    assert result.json["strict"] == "passed"


def test_threads_and_a_fork_before_jax_starts(run_program: RunProgram) -> None:
    """32 threads apply once; a child forked before the start uses the GPU under the cap, the parent stays without."""
    result = run_program("jax_processes.py")
    shown = result.json
    assert shown["problems"] == []
    assert shown["child"]["granted"] == [True, False]
    assert set(shown["child"]["rows"].values()) == {"in_force"}
    assert set(shown["parent"].values()) == {"pending"}
    requests = result.run.requests(0, "jax")
    assert {request.pid for request in requests} == {shown["child"]["pid"]}
    assert GIB <= result.run.peak(0, "jax") <= 3 * GIB


def test_a_cap_reaches_jax_between_its_discovery_and_its_client(run_program: RunProgram) -> None:
    """The variables are read by then; the options of the client are not used yet."""
    result = run_program("jax_rescue.py")
    shown = result.json
    assert "client options" in shown["rows"]["cap 0"][1]
    assert shown["left"] == []
    assert shown["granted"] == [True, False]
    assert 2 * GIB <= result.run.peak(0, "jax") <= 3 * GIB
    assert shown["after"]["cap 0"] == ["in_force", 3 * GIB]
    assert shown["after"]["preallocate None"] == ["in_force", False]
    assert shown["after"]["allocator None"][0] == "not_expressed"
    assert any("JAX has" in text for text in shown["late"])
