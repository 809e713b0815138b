"""The real CuPy on the simulated GPU: what it asks of the driver under a policy, and what verify() says of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.simulated.conftest import ProgramRun, RunProgram

pytestmark = pytest.mark.simulated

MIB, GIB = 1 << 20, 1 << 30
ODD = 1234567891
ODD_IN_BLOCKS = ODD // 512 * 512


def ask(run_program: RunProgram, policy: dict[str, Any], asks: list[list[int]], **more: Any) -> ProgramRun:
    """Run cupy_ask.py with the arguments of configure() and the sizes to allocate."""
    env = {"POLICY": json.dumps(policy), **more.pop("env", {})}
    moment = more.pop("moment", "before")
    return run_program("cupy_ask.py", moment, json.dumps(asks), env=env, **more)


def states(rows: dict[str, list[Any]]) -> dict[str, str]:
    return {key: row[0] for key, row in rows.items()}


def test_an_odd_cap_with_growth_holds_to_the_byte_on_each_device(run_program: RunProgram) -> None:
    """Configured before the import: nothing is started, first touch on device 1 is small, and the cap holds on both."""
    asks = [[1, MIB], [1, GIB], [1, 256 * MIB], [0, GIB], [0, 256 * MIB]]
    result = ask(run_program, {"cap": ODD, "growth": True}, asks)
    shown = result.json
    assert shown["cuda"] == "not initialised"
    assert shown["variable"] == str(ODD)
    assert states(shown["waiting"]) == {"cap None": "pending", "preallocate None": "in_force"}
    assert shown["granted"] == [True, True, False, True, False]
    assert shown["rows"]["cap None"][:2] == ["in_force", ODD]
    assert (shown["ok"], shown["default_pool"], shown["warnings"]) == (True, True, [])
    first = result.run.first_request(1, "cupy")
    assert first is not None
    assert first.bytes == MIB
    for device in (0, 1):
        assert GIB <= result.run.peak(device, "cupy") <= ODD
        assert not result.run.refused(device), "what is above the cap must not reach the driver"
    assert (shown["left"], shown["after_reset"]) == ([], [0, None])


def test_a_cap_taken_ahead_is_one_request_of_whole_blocks(run_program: RunProgram) -> None:
    """Configured after the import: the first request is the cap in blocks of 512 bytes, the last one too."""
    policy = {"cap": ODD, "preallocate": True}
    result = ask(run_program, policy, [[0, GIB], [0, 100 * MIB], [0, 256 * MIB]], moment="after")
    shown = result.json
    assert shown["granted"] == [True, True, False]
    assert [request.bytes for request in result.run.requests(0, "cupy")] == [ODD_IN_BLOCKS]
    assert not result.run.requests(1)
    assert shown["rows"]["cap None"][:2] == ["in_force", ODD]
    assert shown["rows"]["preallocate None"][:2] == ["in_force", ODD_IN_BLOCKS]


def test_a_size_taken_ahead_grows_to_the_cap(run_program: RunProgram) -> None:
    """The size is one request at first touch; beyond it the pool grows, and stops at the cap."""
    policy = {"cap": "3GiB", "preallocate": "1GiB"}
    result = ask(run_program, policy, [[0, GIB], [0, 2 * GIB], [0, MIB]])
    assert result.json["granted"] == [True, True, False]
    assert [request.bytes for request in result.run.requests(0, "cupy")] == [GIB, 2 * GIB]
    assert states(result.json["rows"]) == {"cap None": "in_force", "preallocate None": "in_force"}


def test_a_preallocation_that_does_not_fit_is_told_and_harms_nothing(run_program: RunProgram) -> None:
    """The device has less than the size: the program's own request is served, and the row says failed."""
    policy = {"cap": "12GiB", "preallocate": "9GiB"}
    shown = ask(run_program, policy, [[0, MIB], [0, GIB]], devices="1x8GiB").json
    assert shown["granted"] == [True, True]
    assert shown["rows"]["preallocate None"][0] == "failed"
    assert any("GM203" in text and "Out of memory" in text for text in shown["warnings"])


def test_a_fraction_is_taken_of_the_drivers_total_not_of_nvmls(run_program: RunProgram) -> None:
    """NVML says 17 GiB, the driver 16 GiB: 0.3 is 0.3 of 16 GiB, rounded down."""
    limit = int(0.3 * 16 * GIB)
    asks = [[1, 4 * GIB], [1, 900 * MIB]]
    result = ask(run_program, {"fraction": 0.3}, asks, nvml_total="2x17GiB")
    shown = result.json
    assert shown["granted"] == [True, False]
    assert shown["rows"]["fraction None"][:2] == ["in_force", limit]
    assert 4 * GIB <= result.run.peak(1, "cupy") <= limit


def test_a_fraction_of_an_unknown_total_waits_for_cupys_own_start(run_program: RunProgram) -> None:
    """NVML tells no memory: the limit is set at the first allocation, and read back as a share."""
    result = ask(run_program, {"fraction": 0.25}, [[0, 3 * GIB], [0, 2 * GIB]], nvml="unsupported")
    shown = result.json
    assert shown["variable"] is None
    assert states(shown["waiting"]) == {"fraction None": "pending"}
    assert shown["granted"] == [True, False]
    assert shown["rows"]["fraction None"][:2] == ["in_force", 0.25]
    assert result.run.peak(0, "cupy") <= 4 * GIB


def test_two_devices_have_two_limits_and_the_untouched_one_is_pending(run_program: RunProgram) -> None:
    """First touch on device 1, with a size taken ahead there; device 0 is asked nothing and stays pending."""
    policy = {"devices": {"0": {"cap": "2GiB"}, "1": {"cap": "4GiB", "preallocate": "1GiB"}}}
    result = ask(run_program, policy, [[1, 3 * GIB], [1, 2 * GIB]])
    shown = result.json
    assert shown["granted"] == [True, False]
    assert states(shown["rows"]) == {"cap 0": "pending", "cap 1": "in_force", "preallocate 1": "in_force"}
    first = result.run.first_request(1, "cupy")
    assert first is not None
    assert first.bytes == GIB
    assert result.run.peak(1, "cupy") <= 4 * GIB
    assert not result.run.requests(0)
    assert not shown["default_pool"], "gpumem's allocator still waits for device 0"


def test_unequal_cards_have_their_own_share_when_their_order_is_certain(run_program: RunProgram) -> None:
    """With CUDA_DEVICE_ORDER=PCI_BUS_ID half of each card; once both are done CuPy calls its own pool again."""
    asks = [[0, 5 * GIB], [0, 3 * GIB], [1, 7 * GIB], [1, 2 * GIB]]
    env = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    result = ask(run_program, {"fraction": 0.5}, asks, devices="8GiB,16GiB", env=env)
    shown = result.json
    assert shown["granted"] == [False, True, True, False]
    assert {key: row[:2] for key, row in shown["rows"].items()} == {
        "fraction 0": ["in_force", 4 * GIB],
        "fraction 1": ["in_force", 8 * GIB],
    }
    assert (result.run.peak(0), result.run.peak(1)) == (3 * GIB, 7 * GIB)
    assert shown["default_pool"]


def test_uncertain_and_reordered_cards_have_their_own_share_each(run_program: RunProgram) -> None:
    """CUDA_VISIBLE_DEVICES=1,0 without an order: ordinal 0 is the 16 GiB card, as the driver says at first touch."""
    asks = [[0, 7 * GIB], [0, 2 * GIB], [1, 3 * GIB], [1, 2 * GIB]]
    env = {"CUDA_VISIBLE_DEVICES": "1,0"}
    result = ask(run_program, {"fraction": 0.5}, asks, devices="8GiB,16GiB", env=env)
    assert result.json["granted"] == [True, False, True, False]
    assert result.json["rows"]["fraction None"][:2] == ["in_force", 0.5]
    assert (result.run.peak(0), result.run.peak(1)) == (7 * GIB, 3 * GIB)


def test_each_allocator_word_does_what_the_table_says(run_program: RunProgram) -> None:
    """One process, eight policies: what holds the cap refuses 4 GiB, and reset() brings the default pool back."""
    result = run_program("cupy_allocators.py")
    shown = result.json
    assert {name: entry["answers"][1] for name, entry in shown.items()} == {
        name: "granted" if name == "direct" else "refused" for name in shown
    }
    assert {name: entry["answers"][0] for name, entry in shown.items()} == dict.fromkeys(shown, "granted")
    assert all(entry["default_pool_again"] and entry["left"] == [] for entry in shown.values())
    words = {name: entry["rows"]["allocator"] for name, entry in shown.items()}
    assert words == {
        "managed": ["in_force", "managed"],
        "async": ["in_force", "async"],
        "async, taken ahead": ["in_force", "async"],
        "pool": ["in_force", "pool"],
        "direct": ["in_force", "direct"],
        "direct, capped": ["not_expressed", "pool"],
        "vmm": ["not_expressed", "pool"],
        "managed, taken ahead": ["in_force", "managed"],
    }
    caps = [entry["rows"]["cap"] for name, entry in shown.items() if name != "direct"]
    assert caps == [["in_force", 2 * GIB]] * 7
    assert shown["async, taken ahead"]["rows"]["preallocate"] == ["in_force", GIB]
    assert shown["managed, taken ahead"]["rows"]["preallocate"][0] == "not_expressed"
    asked = [(request.api, request.bytes) for request in result.run.requests(0, "cupy")]
    assert ("cuMemAllocManaged", GIB) in asked
    assert ("cuMemAllocAsync", GIB) in asked
    assert [request for request in asked if request[1] == 4 * GIB] == [("cuMemAlloc", 4 * GIB)], "by direct alone"


def test_hiding_is_refused_with_advice_and_the_limit_holds_all_the_same(run_program: RunProgram) -> None:
    """CuPy has no visibility of its own: an error by default, a row beside the limit with on_unsupported=warn."""
    refused = ask(run_program, {"frameworks": {"cupy": "hidden"}}, []).json
    assert refused["error"] == "UnsupportedPolicyError"
    assert "CUDA_VISIBLE_DEVICES=-1" in refused["text"]
    policy = {"cap": "1GiB", "frameworks": {"cupy": {"visible": [0], "on_unsupported": "warn"}}}
    shown = ask(run_program, policy, [[0, 2 * GIB]]).json
    assert shown["granted"] == [False]
    assert states(shown["rows"]) == {"cap None": "in_force", "visible None": "not_expressed"}
    assert any("GM202" in text and "CUDA_VISIBLE_DEVICES=0" in text for text in shown["warnings"])


def test_a_policy_that_comes_after_the_first_use_still_holds(run_program: RunProgram) -> None:
    """CuPy's limits can change at any time: above, the same again, raised, below what is held, on the other device."""
    shown = run_program("cupy_late.py").json
    assert shown["above"][0][:2] == ["in_force", 4 * GIB]
    assert shown["above"][1:] == ["granted", "refused"]
    assert (shown["same"][0][0], shown["same"][1]) == ("in_force", "refused")
    assert (shown["raised"][0][:2], shown["raised"][1:]) == (["in_force", 6 * GIB], ["granted", "refused"])
    assert shown["below"][0][:2] == ["exceeded", GIB]
    assert "3 GiB" in shown["below"][0][2]
    assert shown["below"][1] == "refused"
    assert shown["other device"] == ["granted", "refused"]
    assert shown["reset"] == [[], 0, None, "granted"]
    assert (shown["users"], shown["users overruled"], shown["users again"]) == (
        5 * GIB,
        [4 * GIB, "in_force"],
        5 * GIB,
    )
    assert "PythonFunctionAllocator" in shown["foreign"]
    assert "cupy.get_default_memory_pool().malloc" in shown["foreign"]


def test_verify_names_what_took_the_cap_out_of_force(run_program: RunProgram) -> None:
    """The allocator that replaced CuPy's pool, or the limit that somebody changed; strict raises with the same."""
    shown = run_program("cupy_broken.py").json
    for name in ("intact", "intact again", "another pool, which reads the variable"):
        assert (shown[name][0], shown[name][3]) == ("in_force", "")
    named = {
        "no pool": "cupy.cuda.memory._malloc (set_allocator(None))",
        "no pool, managed": "malloc_managed",
        "another pool without a limit": "set_allocator(), cupy.cuda.memory.MemoryPool.malloc on device 0 says 0",
        "another library": "PythonFunctionAllocator",
        "limit lifted": "get_limit() of CuPy's pool on device 0 says 0",
        "limit raised": f"says {3 * GIB}",
    }
    for name, text in named.items():
        state, in_force, why, strict = shown[name]
        assert state == "differs", name
        assert text in why, name
        assert text in strict, name
        assert in_force == (3 * GIB if name == "limit raised" else 0)
    assert shown["limit lowered"][0] == "in_force", "a tighter limit keeps the promise"


@pytest.mark.parametrize("source", ["variable", "pyproject"])
def test_a_policy_is_declared_outside_of_the_program(run_program: RunProgram, tmp_path: Path, source: str) -> None:
    """GPUMEM_ variables and pyproject.toml say the same as arguments do."""
    env = {}
    if source == "variable":
        env = {"GPUMEM_CAP": "2GiB", "GPUMEM_FRAMEWORKS__CUPY__PREALLOCATE": "1GiB"}
    else:
        text = '[tool.gpumem]\ncap = "2GiB"\nframeworks.cupy = { preallocate = "1GiB" }\n'
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    result = ask(run_program, {}, [[0, GIB], [0, 2 * GIB]], env=env, cwd=tmp_path)
    assert result.json["granted"] == [True, False]
    assert states(result.json["rows"]) == {"cap None": "in_force", "preallocate None": "in_force"}
    assert [request.bytes for request in result.run.requests(0, "cupy")] == [GIB]


def test_the_users_own_variable_beats_a_file_and_is_beaten_by_arguments(
    run_program: RunProgram, tmp_path: Path
) -> None:
    """CUPY_GPU_MEMORY_LIMIT=1 GiB: kept against a cap of 2 GiB in a file; overruled by an argument, with a warning."""
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem]\ncap = "2GiB"\n', encoding="utf-8")
    env = {"CUPY_GPU_MEMORY_LIMIT": str(GIB)}
    kept = ask(run_program, {}, [[0, GIB], [0, MIB]], env=env, cwd=tmp_path).json
    assert (kept["variable"], kept["granted"]) == (str(GIB), [True, False])
    assert kept["rows"]["cap None"][:2] == ["in_force", GIB]
    beaten = ask(run_program, {"cap": "3GiB"}, [[0, 2 * GIB], [0, 2 * GIB]], env=env).json
    assert (beaten["variable"], beaten["granted"]) == (str(3 * GIB), [True, False])
    assert any("GM104" in text and "CUPY_GPU_MEMORY_LIMIT" in text for text in beaten["warnings"])
    assert beaten["after_reset"] == [GIB, str(GIB)], "reset() brings the user's own limit back"


def test_a_value_that_cupy_cannot_read_is_told_or_replaced(run_program: RunProgram) -> None:
    """CUPY_GPU_MEMORY_LIMIT=1GiB makes CuPy raise at first use; a cap in an argument replaces it in time."""
    env = {"CUPY_GPU_MEMORY_LIMIT": "1GiB"}
    shown = ask(run_program, {"cap": "1GiB"}, [[0, 512 * MIB], [0, GIB]], env=env).json
    assert (shown["variable"], shown["granted"]) == (str(GIB), [True, False])
    told = ask(run_program, {"growth": True}, [[0, MIB]], env=env)
    assert told.run.returncode != 0
    assert "invalid literal for int" in told.run.stderr, "CuPy's own error"


@pytest.mark.parametrize("preallocate", [False, True])
def test_children_keep_the_cap(run_program: RunProgram, preallocate: bool) -> None:
    """A forked child has the allocator and the variable, a child that knows nothing of gpumem has the variable."""
    policy = {"cap": "2GiB", "preallocate": preallocate}
    result = run_program("cupy_children.py", env={"POLICY": json.dumps(policy)})
    shown = result.json
    for who in ("forked", "parent"):
        assert shown[who]["second"] == "refused", who
        assert shown[who]["states"] == {"cap": "in_force", "preallocate": "in_force"}, who
        assert shown[who]["held"] == (2 * GIB if preallocate else GIB), who
    assert shown["plain"] == "refused"
    pids = {request.pid for request in result.run.requests(0, "cupy")}
    assert len(pids) == 3
    assert os.getpid() not in pids


def test_32_threads_take_ahead_once_per_device(run_program: RunProgram) -> None:
    """All threads touch at once: one request of 1 GiB on each device, and nothing else reaches the driver."""
    result = run_program("cupy_threads.py")
    shown = result.json
    assert shown["errors"] == []
    assert shown["held"] == [GIB, GIB]
    for device in (0, 1):
        assert [request.bytes for request in result.run.requests(device, "cupy")] == [GIB]
    assert shown["rows"] == {"cap": "in_force", "preallocate": "in_force"}
    assert shown["default_pool"], "both devices are done, so CuPy calls its own pool again"


def test_no_limit_explicitly_takes_the_users_variable_away(run_program: RunProgram) -> None:
    """cap="none" in an argument beats CUPY_GPU_MEMORY_LIMIT, and is read back as 0, CuPy's word for none."""
    env = {"CUPY_GPU_MEMORY_LIMIT": str(GIB)}
    shown = ask(run_program, {"cap": "none"}, [[0, 4 * GIB]], env=env).json
    assert (shown["variable"], shown["granted"]) == (None, [True])
    assert shown["rows"]["cap None"][:2] == ["in_force", 0]
    assert shown["after_reset"][1] == str(GIB)
