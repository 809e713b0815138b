"""TensorFlow itself under a policy, judged by what it asked of the driver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.simulated.conftest import RunProgram

pytestmark = pytest.mark.simulated
MIB, GIB = 1 << 20, 1 << 30
GRANTED, REFUSED = "granted", "ResourceExhaustedError"


def policy(**fields: object) -> dict[str, str]:
    return {"POLICY": json.dumps(fields)}


def states(rows: list[dict[str, Any]]) -> dict[tuple[str, int | None], str]:
    return {(row["field"], row["device"]): row["state"] for row in rows}


def in_force(rows: list[dict[str, Any]]) -> dict[tuple[str, int | None], object]:
    return {(row["field"], row["device"]): row["in_force"] for row in rows}


def test_a_cap_with_growth_holds_and_a_later_configure_is_judged(run_program: RunProgram) -> None:
    """2 MiB first, growth up to the cap and not beyond; the same policy again is no error, another one is too late."""
    env = policy(cap="2GiB", growth=True) | {"AGAIN": json.dumps({"cap": "3GiB", "growth": True})}
    result = run_program("tensorflow_touch.py", "first", "0:256,0:2048,0:1024,0:700", env=env)
    shown = result.json
    assert set(states(shown["before"]).values()) == {"pending"}
    assert shown["touched"] == [GRANTED, REFUSED, GRANTED, GRANTED]
    requests = result.run.requests(0, "tensorflow")
    assert requests[0].bytes == 2 * MIB
    assert 1980 * MIB <= result.run.peak(0, "tensorflow") <= 2 * GIB
    assert result.run.requests(1) == ()
    assert set(states(shown["rows"]).values()) == {"in_force"}
    assert "late" not in shown["same"]
    for part in (
        "tensorflow",
        "cap=3GiB",
        "the framework has started",
        "2147483648 bytes",
        "first imported by tensorflow_touch.py",
        "Call gpumem.configure() before tensorflow is first used",
        "nothing was changed",
    ):
        assert part in shown["again"], part
    assert set(states(shown["after_refusal"]).values()) == {"in_force"}
    assert all("until the process ends" in text for text in shown["left"])


def test_an_odd_cap_is_taken_ahead_whole_at_the_first_touch_of_device_1(run_program: RunProgram) -> None:
    """Declared after the import: 1234567891 bytes become 1177 MB in one request, on the touched device alone."""
    env = policy(cap=1234567891, preallocate=True)
    result = run_program("tensorflow_touch.py", "between", "1:1000,1:1000", env=env)
    shown = result.json
    assert shown["touched"] == [GRANTED, REFUSED]
    assert [request.bytes for request in result.run.requests(1, "tensorflow")] == [1177 * MIB]
    assert result.run.requests(0) == ()
    assert set(states(shown["rows"]).values()) == {"in_force"}
    assert 1177 * MIB in in_force(shown["rows"]).values()


def test_a_fraction_is_of_cudas_total_even_where_nvml_tells_more(run_program: RunProgram) -> None:
    """A quarter of 8 and 16 GiB, though NVML says 9 and 17."""
    result = run_program(
        "tensorflow_touch.py", "first", "0:1,1:1", devices="8GiB,16GiB", nvml_total="9GiB,17GiB",
        env=policy(fraction=0.25, preallocate=True) | {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
    )  # fmt: skip
    assert [result.run.requests(n, "tensorflow")[0].bytes for n in (0, 1)] == [2 * GIB, 4 * GIB]
    assert set(states(result.json["rows"]).values()) == {"in_force"}
    assert in_force(result.json["rows"])["fraction", 1] == 4 * GIB


@pytest.mark.parametrize(
    "machine",
    [
        {"devices": "8GiB,16GiB", "order": (1, 0)},
        {"devices": "16GiB,8GiB", "nvml": "unsupported"},
    ],
    ids=["which card is uncertain", "NVML tells no totals"],
)
def test_a_fraction_waits_for_cudas_totals_where_no_other_is_certain(
    run_program: RunProgram, machine: dict[str, Any]
) -> None:
    """Half of each card's own total, also where CUDA's order is not NVML's and where NVML is silent."""
    result = run_program("tensorflow_touch.py", "first", "0:1,1:1", env=policy(fraction=0.5, growth=False), **machine)
    assert [result.run.requests(n, "tensorflow")[0].bytes for n in (0, 1)] == [8 * GIB, 4 * GIB]
    assert set(states(result.json["rows"]).values()) == {"in_force"}
    assert 0.5 in in_force(result.json["rows"]).values()


def test_two_devices_have_two_caps_in_the_programs_own_numbering(run_program: RunProgram) -> None:
    """With CUDA_VISIBLE_DEVICES=1,0 the ordinals of the policy are the program's; a size ahead is told as refused."""
    result = run_program(
        "tensorflow_touch.py", "first", "0:1500,1:1500,1:3000", devices="8GiB,16GiB",
        env=policy(devices={0: {"cap": "1GiB"}, 1: {"cap": "4GiB"}}, preallocate="100MiB")
        | {"CUDA_VISIBLE_DEVICES": "1,0"},
    )  # fmt: skip
    shown = result.json
    assert shown["touched"] == [REFUSED, GRANTED, REFUSED]
    assert result.run.peak(0, "tensorflow") <= GIB
    assert result.run.peak(1, "tensorflow") <= 4 * GIB
    found = states(shown["rows"])
    assert (found["cap", 0], found["cap", 1]) == ("in_force", "in_force")
    assert {state for (field, _device), state in found.items() if field == "preallocate"} == {"not_expressed"}
    assert any("GM202" in text and "take a size ahead" in text for text in shown["warnings"])


def test_hidden_gpus_are_never_touched_declared_by_a_file(run_program: RunProgram, tmp_path: Path) -> None:
    """`frameworks.tensorflow = "hidden"` in pyproject.toml: no request, no GPU, and that is in force."""
    text = '[tool.gpumem]\ncap = "2GiB"\n[tool.gpumem.frameworks]\ntensorflow = "hidden"\n'
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    result = run_program("tensorflow_touch.py", "first", "", cwd=tmp_path)
    shown = result.json
    assert shown["gpus"] == 0
    assert result.run.requests(0) == result.run.requests(1) == ()
    assert states(shown["rows"]) == {("visible", None): "in_force"}


def test_one_gpu_is_visible_declared_by_variables(run_program: RunProgram) -> None:
    """GPUMEM_* alone: only device 1 is seen, under its cap; the file's weaker cap does not count."""
    env = {
        "GPUMEM_CAP": "3GiB",
        "GPUMEM_GROWTH": "true",
        "GPUMEM_FRAMEWORKS__TENSORFLOW__VISIBLE": "[1]",
        **policy(cap="8GiB"),
    }
    result = run_program("tensorflow_touch.py", "between", "0:2500,0:1000", env=env)
    shown = result.json
    assert shown["gpus"] == 1
    assert shown["touched"] == [GRANTED, REFUSED]
    assert result.run.requests(0) == ()
    assert 2500 * MIB <= result.run.peak(1, "tensorflow") <= 3 * GIB
    assert set(states(shown["rows"]).values()) == {"in_force"}
    assert {row["origin"] for row in shown["rows"] if row["field"] == "cap"} == {"environment GPUMEM_CAP"}


def test_the_async_allocator_takes_a_size_ahead_and_a_cap_beats_it(run_program: RunProgram) -> None:
    """Without a limit it is used; with one TensorFlow's pool holds the cap, and the word is told as not expressed."""
    env = policy(allocator="async", preallocate="100MiB")
    result = run_program("tensorflow_touch.py", "first", "0:3", env=env)
    assert result.json["touched"] == [GRANTED]
    assert {request.api for request in result.run.requests(0)} == {"cuMemAllocFromPoolAsync"}
    assert result.run.requests(0)[0].bytes == 100 * MIB
    assert states(result.json["rows"]) == {("preallocate", None): "in_force", ("allocator", None): "in_force"}
    env = policy(allocator="async", cap="1GiB") | {"TF_GPU_ALLOCATOR": "cuda_malloc_async"}
    result = run_program("tensorflow_touch.py", "first", "0:3", env=env)
    assert [request.bytes for request in result.run.requests(0, "tensorflow")] == [GIB]
    found = states(result.json["rows"])
    assert found["allocator", None] == "not_expressed"
    assert {state for (field, _device), state in found.items() if field == "cap"} == {"in_force"}


def test_managed_memory_may_be_more_than_the_device_and_direct_asks_for_each_tensor(run_program: RunProgram) -> None:
    """The first request is one and a half times the total, of managed memory; cuda_malloc has no pool."""
    env = policy(allocator="managed", fraction=1.5, preallocate=True)
    result = run_program("tensorflow_touch.py", "first", "0:3", devices="1x4GiB", env=env)
    first = result.run.first_request(0, "tensorflow")
    assert first is not None
    assert (first.api, first.bytes) == ("cuMemAllocManaged", 6 * GIB)
    assert set(states(result.json["rows"]).values()) == {"in_force"}
    result = run_program("tensorflow_touch.py", "first", "0:3,0:5", devices="1x4GiB", env=policy(allocator="direct"))
    amounts = [request.bytes for request in result.run.requests(0, "tensorflow")]
    assert {3 * MIB, 5 * MIB} <= set(amounts)
    assert sum(amounts) < 9 * MIB
    assert states(result.json["rows"]) == {("allocator", None): "in_force"}


@pytest.mark.parametrize("how", ["context", "device_lib"])
def test_a_policy_that_comes_too_late_is_never_in_force(run_program: RunProgram, how: str) -> None:
    """Broken on purpose: the allocators exist with defaults, and the report names what differs."""
    result = run_program("tensorflow_late.py", how, devices="1x16GiB")
    shown = result.json
    assert result.run.peak(0, "tensorflow") > 14 * GIB
    if how == "context":
        for part in ("tensorflow", "cap=2GiB", "preallocate=false", "tensorflow_late.py", "GiB", "restart the process"):
            assert part in shown["error"], part
        assert {row["state"] for row in shown["rows"].values()} == {"late"}
    else:
        # The context does not tell; a CUDA context of unknown origin does, and TensorFlow's start brings certainty.
        assert {row["state"] for row in shown["before"].values()} <= {"pending", "unknown"}
        assert any("is in time is unknown" in text for text in shown["warnings"])
        assert shown["rows"]["cap"]["state"] == "failed"
        assert "existed before" in shown["rows"]["cap"]["why"]
        assert any("GM203" in text for text in shown["warnings"])
    assert "cap" in shown["strict"]


def test_the_programs_own_split_and_growth_are_kept_within_the_cap(run_program: RunProgram) -> None:
    """6 and 2 GiB become 3 and 1 of a 4 GiB cap; growth survives logical devices of GPUs and CPUs."""
    result = run_program("tensorflow_own_settings.py", env=policy(cap="4GiB"))
    shown = result.json
    assert shown["touched"] == [GRANTED, GRANTED, REFUSED, GRANTED, REFUSED]
    assert shown["cpus"] == 2
    assert result.run.requests(0, "tensorflow")[0].bytes == 2 * MIB
    assert result.run.requests(1, "tensorflow")[0].bytes == 2 * MIB
    assert result.run.peak(0, "tensorflow") <= 4 * GIB
    assert 3000 * MIB <= result.run.peak(1, "tensorflow") <= 4 * GIB
    assert set(states(shown["rows"]).values()) == {"in_force"}
    assert shown["variable"] is None


@pytest.mark.parametrize("door", ["session", "server", "device_lib"])
def test_every_way_to_start_meets_the_policy(run_program: RunProgram, door: str) -> None:
    """Sessions with a fraction of their own, servers and listings make the same allocators: under the cap."""
    env = {"KERAS_BACKEND": "jax"} if door == "session" else {}  # Keras says "true" then; the policy says "false"
    result = run_program("tensorflow_doors.py", door, devices="1x16GiB", env=env)
    assert [request.bytes for request in result.run.requests(0, "tensorflow")] == [2 * GIB]
    assert set(states(result.json["rows"]).values()) == {"in_force"}


def test_a_forked_child_uses_the_gpu_first_from_32_threads(run_program: RunProgram) -> None:
    """The parent declares and imports, and starts nothing; the child is held to the cap from its first moment."""
    result = run_program("tensorflow_fork_and_threads.py")
    shown = result.json
    assert shown["status"] == 0
    assert shown["parent"] != "initialised"
    assert (shown["child"]["held"], shown["child"]["errors"]) == (32, [])
    assert result.run.requests(0) == ()
    assert 128 * MIB <= result.run.peak(1, "tensorflow") <= 2 * GIB
    assert set(states(shown["child"]["rows"]).values()) == {"in_force"}
