"""What a description of devices says to the driver, and what it refuses before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpumem_simgpu import RefuseRequest, SimulatedGpus, SimulationError, SlowDriver


def variables(devices: str, **fields: Any) -> dict[str, str]:
    return SimulatedGpus(devices, **fields).machine.variables()


def test_plain_sizes_say_nothing_else() -> None:
    """What is the driver's default is left to it."""
    assert variables("2x16GiB, 8GiB") == {"SIMGPU_DEVICES": "2x16GiB,8GiB"}


def test_every_field_has_its_variable() -> None:
    """A single value holds for all devices."""
    assert variables(
        "8GiB,16GiB",
        nvml_total="2x17GiB",
        context="300MiB",
        granularity=1,
        order=[1, 0],
        names=["A", "B"],
        nvml="no-sizes",
        faults=(RefuseRequest(3, device=1), "slow=5"),
        driver_version="12.4",
    ) == {
        "SIMGPU_DEVICES": "8GiB,16GiB",
        "SIMGPU_NVML_TOTAL": "2x17GiB",
        "SIMGPU_CONTEXT": "300MiB",
        "SIMGPU_GRANULARITY": "1",
        "SIMGPU_FASTEST_FIRST": "1,0",
        "SIMGPU_NAMES": "A,B",
        "SIMGPU_NVML": "no-sizes",
        "SIMGPU_FAULTS": "alloc=3@1,slow=5",
        "SIMGPU_DRIVER_VERSION": "12040",
    }


def test_profiles_and_sizes_stand_side_by_side() -> None:
    """Each device has its own values; fields that are given replace those of a profile."""
    found = variables("T4,16GiB", context="0,1GiB")

    assert found["SIMGPU_NAMES"] == "Tesla T4,NVIDIA Simulated GPU"
    assert found["SIMGPU_CC"] == "7.5,8.0"
    assert found["SIMGPU_CONTEXT"] == "0,1GiB"
    assert found["SIMGPU_NVML_TOTAL"] == "15GiB,16GiB"


def test_slices_share_a_gpu_until_it_is_full() -> None:
    """Seven compute slices and eight memory slices make a GPU; another kind of card is another GPU."""
    assert variables("8xa100-1g.5gb,16GiB,a100-1g.5gb")["SIMGPU_MIG"] == ",".join(
        [*["0:1g.5gb"] * 7, "1:1g.5gb", "", "3:1g.5gb"]
    )
    assert variables("a100-3g.20gb,a100-4g.20gb,h100-1g.10gb")["SIMGPU_MIG"] == "0:3g.20gb,0:4g.20gb,1:1g.10gb"
    assert variables("3xa100-3g.20gb")["SIMGPU_MIG"] == "0:3g.20gb,0:3g.20gb,1:3g.20gb"
    assert variables("a100-1g.5gb")["SIMGPU_NAMES"] == "NVIDIA A100-SXM4-40GB MIG 1g.5gb"


def test_a_vgpu_has_neither_pools_nor_virtual_memory() -> None:
    """Each of them is said by itself."""
    found = variables("vgpu-without-vmm")
    assert {found[f"SIMGPU_{name}"] for name in ("POOLS", "VMM", "MANAGED")} == {"no"}
    assert variables("gb10")["SIMGPU_INTEGRATED"] == "yes"


@pytest.mark.parametrize("version", [12040, "12040", "12.4"])
def test_a_driver_version_is_written_either_way(version: str | int) -> None:
    """As people and as CUDA say it."""
    assert variables("1GiB", driver_version=version)["SIMGPU_DRIVER_VERSION"] == "12040"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"devices": "2x16"}, 'devices: "16" is a number of bytes, since it has no unit; did you mean "16GiB"?'),
        ({"devices": ""}, "names nothing"),
        ({"devices": "16GiB,"}, "names nothing"),
        ({"devices": "0x16GiB"}, "names nothing"),
        ({"devices": "17x1GiB"}, "at most 16"),
        ({"devices": "9x1GiB,8x1GiB"}, "at most 16"),
        ({"devices": 16}, "16 is not a text"),
        ({"devices": "512KiB"}, "the smallest size is 1MiB"),
        ({"nvml_total": "3x16GiB"}, "3 sizes, but there are 2 devices"),
        ({"nvml_total": "1GiB"}, "NVML reports all memory"),
        ({"nvml_total": 17}, 'write "17GiB"'),
        ({"context": "300"}, 'did you mean "300MiB"?'),
        ({"context": "17GiB"}, "more than device 0 has"),
        ({"granularity": "3MiB"}, "power of two"),
        ({"granularity": 0}, "granularity"),
        ({"order": (0, 0)}, "name each bus number once"),
        ({"order": (0, 2)}, "name each bus number once"),
        ({"order": 1.5}, "name each bus number once"),
        ({"names": ("A",)}, "1 names for 2 devices"),
        ({"names": ("A", "B,C")}, "holds a comma"),
        ({"names": ("A", "2xB")}, 'begins like "2x"'),
        ({"nvml": "mising"}, "did you mean missing?"),
        ({"faults": ("alloc=3@2",)}, "the devices are 0 to 1"),
        ({"faults": (3,)}, "is no fault"),
        ({"driver_version": "12"}, 'write "12.4"'),
        ({"shared_state": "/nowhere/at/all/state"}, "does not exist"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_no_machine_can_be_is_refused_when_it_is_described(fields: dict[str, Any], said: str) -> None:
    """The message names the field first, and says what to write."""
    with pytest.raises(SimulationError, match=f"^{next(iter(fields))}: ") as caught:
        SimulatedGpus(**fields)
    assert said in str(caught.value)


def test_one_fault_needs_no_list() -> None:
    """A value, a text, several in one text."""
    assert variables("1GiB", faults=SlowDriver(5))["SIMGPU_FAULTS"] == "slow=5"
    assert variables("1GiB", faults="alloc=1, slow=5")["SIMGPU_FAULTS"] == "alloc=1,slow=5"


def test_a_relative_state_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program may be started elsewhere."""
    monkeypatch.chdir(tmp_path)
    assert SimulatedGpus("1GiB", shared_state="state").environment({})["SIMGPU_STATE"] == str(tmp_path / "state")
