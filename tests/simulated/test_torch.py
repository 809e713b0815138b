"""The real PyTorch on the simulated GPU: what it asks of the driver under a policy, and what verify() says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.simulated.conftest import ProgramRun, RunProgram

pytestmark = pytest.mark.simulated

MIB, GIB = 1 << 20, 1 << 30
ODD = 1234567891
CUDA, NEW, OFF = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING"


def ask(run_program: RunProgram, policy: dict[str, Any], asks: list[list[Any]], **more: Any) -> ProgramRun:
    """Run torch_ask.py with the arguments of configure() and the sizes to allocate."""
    env = {"POLICY": json.dumps(policy), **more.pop("env", {})}
    moment = more.pop("moment", "before")
    return run_program("torch_ask.py", moment, json.dumps(asks), env=env, **more)


def states(rows: dict[str, list[Any]]) -> dict[str, str]:
    return {key: row[0] for key, row in rows.items()}


def first(result: ProgramRun, device: int) -> int:
    request = result.run.first_request(device, "torch")
    assert request is not None
    return request.bytes


def test_an_odd_cap_with_growth_holds_to_the_byte_on_each_device(run_program: RunProgram) -> None:
    """Nothing is started and no variable written; device 1 is touched first, with 2 MiB; then both are filled."""
    asks = [[1, MIB], [1, GIB], [0, 2000000000], [1, "fill"], [0, "fill"]]
    result = ask(run_program, {"cap": ODD, "growth": True}, asks)
    shown = result.json
    assert (shown["cuda"], shown["variables"]) == ("not initialised", {})
    assert shown["started by configure and import"] is False
    assert set(states(shown["waiting"]).values()) == {"pending"}
    assert shown["granted"] == [True, True, False]
    assert set(states(shown["rows"]).values()) == {"in_force"}
    assert {row[1] for key, row in shown["rows"].items() if key.startswith("cap")} == {ODD}
    assert (shown["ok"], shown["warnings"], shown["current"]) == (True, [], 0)
    assert first(result, 1) == 2 * MIB
    for device in (0, 1):
        # Segments for large tensors have 20 MiB, so up to one may be missing.
        assert ODD - 22 * MIB < result.run.peak(device, "torch") <= ODD
        assert not result.run.refused(device), "what is above the cap must not reach the driver"
    assert (shown["left"], shown["restored"]) == ([], True)


def test_a_cap_taken_ahead_is_one_request_below_it_and_the_rest_still_fits(run_program: RunProgram) -> None:
    """31/32 of the cap in one block; tensors below 1 MiB, which cannot use the block, find room beside it."""
    result = ask(run_program, {"cap": "4GiB", "preallocate": True}, [[0, GIB], [0, "fill"]], devices="1x16GiB")
    shown = result.json
    assert first(result, 0) == 4 * GIB - 128 * MIB
    assert 4 * GIB - 22 * MIB < result.run.peak(0, "torch") <= 4 * GIB
    assert shown["allocated"][0] > 3.9 * GIB
    assert set(states(shown["rows"]).values()) == {"in_force"}


def test_a_size_taken_ahead_goes_where_the_policy_names_the_device(run_program: RunProgram) -> None:
    """After the import: 1 GiB ahead on device 1, nothing on device 0, and both grow to their own caps."""
    policy = {"devices": {"0": {"cap": "2GiB"}, "1": {"cap": "3GiB", "preallocate": "1GiB"}}}
    asks = [[0, MIB], [1, MIB], [0, "fill"], [1, "fill"]]
    result = ask(run_program, policy, asks, moment="after")
    assert (first(result, 0), first(result, 1)) == (2 * MIB, GIB)
    assert result.run.peak(0, "torch") <= 2 * GIB < 2.9 * GIB < result.run.peak(1, "torch") <= 3 * GIB
    assert states(result.json["rows"]) == {"cap 0": "in_force", "cap 1": "in_force", "preallocate 1": "in_force"}


def test_an_unnamed_device_among_several_is_not_taken_ahead_and_the_launchers_is(run_program: RunProgram) -> None:
    """PyTorch's queue cannot see which device comes first; LOCAL_RANK tells it."""
    policy = {"cap": "2GiB", "preallocate": True, "processes_per_device": 1}
    without = ask(run_program, policy, [[0, MIB]]).json
    assert states(without["rows"])["preallocate None"] in {"not_expressed", "failed"}
    assert any("devices.0.preallocate" in text for text in without["warnings"])
    result = ask(run_program, policy, [], env={"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"})
    assert not result.run.requests(0, "torch")
    assert first(result, 1) == 2 * GIB - 64 * MIB
    assert not result.json["warnings"]


@pytest.mark.parametrize(
    ("policy", "machine", "env", "caps"),
    [
        ({"fraction": 0.7}, {"devices": "8GiB,16GiB"}, {}, [int(0.7 * 8 * GIB), int(0.7 * 16 * GIB)]),
        ({"cap": "10GiB"}, {"devices": "8GiB,16GiB"}, {"CUDA_VISIBLE_DEVICES": "1,0"}, [10 * GIB, 8 * GIB]),
        ({"fraction": 0.5}, {"devices": "1x15GiB", "nvml_total": "1x16GiB"}, {}, [int(7.5 * GIB)]),
        ({"fraction": 0.5}, {"devices": "1x16GiB", "nvml": "missing"}, {}, [8 * GIB]),
    ],
    ids=["unequal cards", "reordered", "nvml above cuda", "no nvml"],
)
def test_the_total_is_that_of_the_very_device(
    run_program: RunProgram, policy: dict[str, Any], machine: dict[str, Any], env: dict[str, str], caps: list[int]
) -> None:
    """The fraction is calculated when CUDA starts, from what CUDA says of each device, whatever NVML says."""
    asks = [[device, "fill"] for device in range(len(caps))]
    result = ask(run_program, policy, asks, env=env, **machine)
    for device, cap in enumerate(caps):
        assert cap - 22 * MIB < result.run.peak(device, "torch") <= cap
    assert set(states(result.json["rows"]).values()) == {"in_force"}


def test_expandable_segments_stay_below_the_cap_that_pytorch_alone_exceeds(run_program: RunProgram) -> None:
    """The word vmm: whole segments of 20 MiB are mapped, and never more than the cap."""
    result = ask(run_program, {"cap": ODD, "allocator": "vmm"}, [[0, "fill"]], devices="1x16GiB")
    shown = result.json
    assert shown["variables"] == dict.fromkeys((CUDA, NEW), "expandable_segments:True")
    assert ODD - 42 * MIB < result.run.peak(0, "torch") <= ODD
    assert {"cuMemCreate"} == {request.api for request in result.run.requests(0, "torch")}
    assert states(shown["rows"]) == {"cap 0": "in_force", "allocator None": "in_force"}
    assert shown["restored"]


def test_the_async_backend_holds_what_it_requests_under_the_cap(run_program: RunProgram) -> None:
    """The word async, with a key of the user's own string kept; the cap counts requested bytes, also taken ahead."""
    policy = {"cap": "2GiB", "allocator": "async", "preallocate": "1GiB"}
    env = {NEW: "pinned_num_register_threads:4"}
    result = ask(run_program, policy, [[0, "fill"]], devices="1x16GiB", env=env)
    shown = result.json
    text = "pinned_num_register_threads:4,backend:cudaMallocAsync"
    assert shown["variables"] == dict.fromkeys((CUDA, NEW), text)
    assert shown["backend"] == "cudaMallocAsync"
    assert first(result, 0) == GIB
    assert 2 * GIB - MIB < shown["allocated"][0] <= 2 * GIB
    assert set(states(shown["rows"]).values()) == {"in_force"}


def test_a_limit_beats_the_switch_without_which_it_would_not_hold(run_program: RunProgram) -> None:
    """PYTORCH_NO_CUDA_MEMORY_CACHING=1 lets everything through a fraction; it is removed, given back, and told of."""
    policy = {"cap": "1GiB", "frameworks": {"torch": {"allocator": "direct"}}}
    result = ask(run_program, policy, [[0, 2 * GIB], [0, 900 * MIB]], devices="1x16GiB", env={OFF: "1"})
    shown = result.json
    assert shown["variables"] == {}
    assert shown["granted"] == [False, True]
    assert states(shown["rows"]) == {"cap 0": "in_force", "allocator None": "not_expressed"}
    assert any("GM202" in text and "without its cache" in text for text in shown["warnings"])
    assert shown["restored"]


def test_direct_without_a_limit_asks_the_driver_for_each_tensor(run_program: RunProgram) -> None:
    """No segment is kept."""
    policy = {"frameworks": {"torch": {"allocator": "direct"}}}
    result = ask(run_program, policy, [[0, 3 * MIB]], devices="1x16GiB")
    assert result.json["variables"] == {OFF: "1"}
    assert first(result, 0) == 3 * MIB


def test_hiding_says_what_to_do_and_keeps_the_limit_where_it_is_not_an_error(run_program: RunProgram) -> None:
    """PyTorch has no such setting: an error that changes nothing; with "ignore" the cap is held all the same."""
    policy = {"cap": "1GiB", "frameworks": {"torch": "hidden"}}
    refused = ask(run_program, policy, []).json
    assert (refused["error"], refused["untouched"]) == ("UnsupportedPolicyError", True)
    assert "CUDA_VISIBLE_DEVICES" in refused["text"]
    policy = {"cap": "1GiB", "frameworks": {"torch": {"visible": "none", "on_unsupported": "ignore"}}}
    result = ask(run_program, policy, [[0, 2 * GIB]])
    assert result.json["granted"] == [False]


def test_files_are_beaten_by_the_users_own_string_and_that_by_gpumems_variables(
    run_program: RunProgram, tmp_path: Path
) -> None:
    """pyproject.toml says 8 GiB, the user's string 25 %, GPUMEM_CAP 2 GiB: each beats the one before."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.gpumem]\ncap = "8GiB"\n[tool.gpumem.frameworks.torch.options]\nmax-split-size-mb = 64\n'.replace(
            "max-split-size-mb", "max_split_size_mb"
        )
    )
    machine = {"devices": "1x16GiB", "cwd": tmp_path}
    asks = [[0, 6 * GIB], [0, 3 * GIB], [0, GIB]]
    by_file = ask(run_program, {}, asks, **machine).json
    assert by_file["granted"] == [True, False, True]
    assert by_file["variables"][CUDA] == "max_split_size_mb:64"
    assert states(by_file["rows"])["options.max_split_size_mb None"] == "in_force"
    by_variable = ask(run_program, {}, asks, env={"GPUMEM_CAP": "2GiB"}, moment="started", **machine).json
    assert by_variable["granted"] == [False, False, True]
    assert by_variable["ok"]


def test_what_comes_too_late_and_what_does_not(run_program: RunProgram) -> None:
    """Limits, options and segments follow a running PyTorch; the backend is an error that names everything."""
    shown = run_program("torch_late.py", env={"GPUMEM_FRAMEWORKS__TENSORFLOW__ON_UNSUPPORTED": "ignore"}).json
    assert shown["above"] == [["in_force", 4 * GIB], "granted", "refused"]
    assert shown["same"] == [["in_force", 4 * GIB], "refused"]
    assert shown["raised"] == [["in_force", 6 * GIB], "granted", "refused", ["in_force", 64]]
    assert shown["below"] == ["exceeded", "refused"]
    assert shown["other device"] == ["granted", "refused"]
    assert shown["vmm"] == [["in_force", "vmm"], "in_force", "granted"]
    left, fraction, granted, variable = shown["reset"]
    assert (left, granted, variable) == ([], "granted", None)
    text, variable, fraction, granted = shown["late"]
    assert (variable, granted) == (None, "granted"), "a late backend in the environment would break the process"
    assert fraction in {1.0, None}
    for words in ("torch", "allocator=async", "torch_late.py:", "in force is allocator pool", "torch_late.py:6"):
        assert words in text
    assert "Call gpumem.configure() before" in text
    assert shown["without it"] == ["late", "in_force", None, "refused"]
    if fraction is not None:  # PyTorch 2.5 cannot tell what the user set
        assert (shown["users"], shown["users overruled"], shown["users again"]) == (0.5, [0.25, "in_force"], 0.5)


def test_a_string_that_pytorch_refuses_is_told_before_and_survived_after(run_program: RunProgram) -> None:
    """Asked for its settings after the failed start, PyTorch 2.14 ends the process; gpumem does not ask."""
    shown = run_program("torch_refused_start.py", env={"PYTORCH_CUDA_ALLOC_CONF": "garbage:1"}).json
    assert "garbage" in shown["refused"]
    assert any("GM105" in text and "'garbage' at character 0" in text for text in shown["warnings"])
    assert "in_force" not in shown["states"]


def test_a_share_of_what_is_free_is_known_after_the_start(run_program: RunProgram) -> None:
    """12 of 16 GiB are free on the device that holds 4."""
    shown = run_program("torch_free_share.py").json
    assert shown == [[0, "in_force", 6 << 30], [1, "in_force", 8 << 30]]


def test_verify_names_what_somebody_changed(run_program: RunProgram) -> None:
    """A variable before the start, a fraction and the configuration after it: each with both values."""
    shown = run_program("torch_broken.py", env={"GPUMEM_FRAMEWORKS__TENSORFLOW__ON_UNSUPPORTED": "ignore"}).json
    assert shown["variable"]["allocator None"][0] == "differs"
    assert "somebody changed it since" in shown["variable"]["allocator None"][2]
    assert set(states(shown["good"]).values()) == {"in_force"}
    broken = shown["broken"]
    assert states(broken) == {
        "cap 0": "in_force",
        "cap 1": "differs",
        "allocator None": "differs",
        "options.max_split_size_mb None": "differs",
    }
    for words in ("expected 4294967296 bytes", "1546188226", "set_per_process_memory_fraction|get_per_process"):
        assert any(word in shown["strict"] for word in words.split("|"))
    assert "expected vmm" in shown["strict"]


def test_children_by_fork_and_by_spawn_hold_the_cap(run_program: RunProgram) -> None:
    """The queue travels through a fork, the variables through a spawn; after a start PyTorch has no GPU in a fork."""
    env = {"GPUMEM_FRAMEWORKS__TENSORFLOW__ON_UNSUPPORTED": "ignore"}
    result = run_program("torch_children.py", env=env)
    shown = result.json
    refused, rows = shown["forked"]
    assert refused
    assert set(rows) == {"in_force"}
    assert shown["parent started by then"] is False
    assert shown["spawned"][1] == "cudaMallocAsync"
    assert set(shown["spawned"][0]) == {"in_force"}
    assert {state for state, _why in shown["late fork"]} == {"not_applicable"}
    assert result.run.peak(1, "torch") <= 2 * GIB


def test_from_32_threads_the_limit_is_set_once_and_holds(run_program: RunProgram) -> None:
    """11 tensors of 100 MiB fit under 1234567891 bytes on each of two devices, the other 10 are refused."""
    result = run_program("torch_threads.py")
    shown = result.json
    assert (shown["granted"], shown["refused"]) == (22, 10)
    assert {tuple(row) for row in shown["rows"]} == {("in_force", ODD)}
    assert all(result.run.peak(device, "torch") <= ODD for device in (0, 1))


@pytest.mark.parametrize("seed", [20261130])
def test_the_parser_agrees_with_the_installed_pytorch(run_program: RunProgram, seed: int) -> None:
    """3000 strings put together at random: both accept the same ones."""
    shown = run_program("torch_parser.py", str(seed)).json
    assert shown["wrong"] == []
    assert shown["accepted"] > 20


def test_an_import_in_another_thread_while_configuring_ends_under_the_cap(run_program: RunProgram) -> None:
    """Gpumem may hear of PyTorch only while PyTorch starts CUDA, with its own lock held: nothing waits for itself."""
    result = run_program("torch_import_in_thread.py", devices="1x16GiB")
    assert result.json == {"refused": True, "rows": {"cap": "in_force", "preallocate": "in_force"}}
    assert result.run.peak(0, "torch") <= 2 * GIB
