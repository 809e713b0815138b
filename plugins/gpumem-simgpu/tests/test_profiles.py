"""Profiles of real cards: every number has a source, and a file that is wrong says where."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpumem_simgpu import SimulatedGpus, SimulationError, profiles
from gpumem_simgpu.profile import FOLDER, Profile
from gpumem_simgpu.profile_file import KEYS, read_profile

FILES = sorted(FOLDER.glob("*.toml"))


def named(name: str) -> Profile:
    return next(one for one in profiles() if one.name == name)


def test_the_usual_cards_are_there() -> None:
    """What the documentation names."""
    wanted = {"t4", "a100-40gb", "a100-80gb", "h100", "h200", "rtx4090", "gb10", "vgpu-without-vmm"}
    slices = {"a100-1g.5gb", "a100-2g.10gb", "a100-3g.20gb"}
    assert wanted | slices <= {profile.name for profile in profiles()}
    assert [profile.name for profile in profiles()] == sorted(profile.name for profile in profiles())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_number_names_its_source(file: Path) -> None:
    """The comment above a value holds an address, names what shows it, or says that it is an assumption."""
    comment = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            comment += line
        else:
            key = line.split(" = ")[0]
            sourced = re.search(
                r"https://|assumption|see [\w.-]+\.toml|the same (list|table|thread)|public logs", comment
            )
            assert sourced or key == "description", f"{file.name}: {key}: {comment}"
            comment = ""


def test_nvml_knows_at_least_as_much_memory_as_cuda() -> None:
    """The driver keeps some of it."""
    for profile in profiles():
        assert profile.context < profile.memory <= profile.nvml_memory, profile


def test_special_cards_are_special() -> None:
    """Unified memory, a slice, and a virtual GPU."""
    assert named("gb10").integrated
    assert (named("a100-2g.10gb").mig_slice, named("a100-2g.10gb").mig_compute_slices) == ("2g.10gb", 2)
    vgpu = named("vgpu-without-vmm")
    assert (vgpu.virtual_memory, vgpu.memory_pools, vgpu.managed_memory) == (False, False, False)


@pytest.mark.parametrize("text", ["A100-80GB", "a100 80gb", "a100_80gb", "A100-80gb"])
def test_a_name_is_found_however_it_is_written(text: str) -> None:
    """Case and spaces do not matter."""
    (device,) = SimulatedGpus(text).machine.devices
    assert device.profile == named("a100-80gb")


def test_an_unknown_name_is_refused_with_what_was_meant() -> None:
    """The shortest names that begin like it come first."""
    with pytest.raises(
        SimulationError, match=r'"a100" is neither a size nor a profile; did you mean a100-40gb or a100-80gb'
    ):
        SimulatedGpus("a100")
    with pytest.raises(SimulationError, match=r"write a size such as .* rtx4090"):
        SimulatedGpus("voodoo")


def test_a_file_of_ones_own_is_a_profile(tmp_path: Path) -> None:
    """Named by its path; what it leaves out has the defaults of the documentation."""
    file = tmp_path / "card.toml"
    file.write_text('card = "NVIDIA Mine"\nmemory = "10GiB"\nnvml-memory = "11GiB"\nmemory-pools = false\n')

    gpus = SimulatedGpus(f"2x{file}, 1GiB")

    assert gpus.machine.variables() == {
        "SIMGPU_DEVICES": "2x10GiB,1GiB",
        "SIMGPU_NVML_TOTAL": "2x11GiB,1GiB",
        "SIMGPU_NAMES": "NVIDIA Mine,NVIDIA Mine,NVIDIA Simulated GPU",
        "SIMGPU_POOLS": "no,no,yes",
    }


GOOD = 'card = "NVIDIA Mine"\nmemory = "10GiB"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD + "memmory = 5\n", "card.toml:3: memmory: there is no such key; did you mean memory?"),
        (GOOD + "colour = 5\n", "card.toml:3: colour: there is no such key; the keys are description, card"),
        (GOOD + '[nvml]\ntotal = "5GiB"\n', "card.toml:3: nvml: there is no such key; did you mean nvml-memory?"),
        ('card = "A"\n', "card.toml: memory is missing"),
        ('memory = "1GiB"\n', "card.toml: card is missing"),
        ('card = "A"\nmemory = "16"\n', 'card.toml:2: memory: "16" is a number of bytes'),
        ('card = "A"\nmemory = true\n', "card.toml:2: memory: True is not a size"),
        ('card = "A"\nmemory = 1.5\n', "card.toml:2: memory: 1.5 is not a size"),
        ('card = "A,B"\nmemory = "1GiB"\n', 'card.toml:1: card: "A,B" does not fit'),
        (GOOD + 'nvml-memory = "9GiB"\n', "card.toml:3: nvml-memory: NVML reports all memory"),
        (GOOD + "multiprocessors = -1\n", "card.toml:3: multiprocessors: -1 is not a whole number"),
        (GOOD + "integrated = 'yes'\n", "card.toml:3: integrated: 'yes' is neither true nor false"),
        (GOOD + 'compute-capability = "8"\n', 'card.toml:3: compute-capability: "8" does not fit; write "8.0"'),
        (GOOD + "compute-capability = 8.0\n", "card.toml:3: compute-capability: 8.0 is not a text"),
        (GOOD + 'mig-slice = "half"\n', 'card.toml:3: mig-slice: "half" does not fit'),
        (GOOD + "mig-memory-slices = 2\n", "card.toml:3: mig-memory-slices: only a slice has memory slices"),
        ("card = \n", "card.toml: this is not TOML: Invalid value (at line 1"),
        (b"\xff", "card.toml: the profile cannot be read"),
    ],
)
def test_a_faulty_file_says_which_line_and_what_to_write(tmp_path: Path, text: str | bytes, said: str) -> None:
    """The place is the file's path, the line and the key."""
    file = tmp_path / "card.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)

    with pytest.raises(SimulationError) as caught:
        read_profile(file)
    assert str(tmp_path) in str(caught.value)
    assert said in str(caught.value)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    """A path is never taken for a name."""
    with pytest.raises(SimulationError, match=r"no\.toml: the profile cannot be read: No such file or directory"):
        SimulatedGpus(str(tmp_path / "no.toml"))


def test_the_readme_lists_every_key() -> None:
    """The table of keys is the schema's."""
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    for key, meaning in KEYS.items():
        assert f"| `{key}` | {meaning} |" in readme
    for profile in profiles():
        assert f"`{profile.name}`" in readme


def test_the_driver_shows_each_card_as_its_profile_says(run_program: Any) -> None:
    """Name and memory by CUDA and by NVML, all whole cards in one machine; a GB10's memory NVML does not tell."""
    whole = [profile for profile in profiles() if not profile.mig_slice]

    found = json.loads(run_program("describe.py", gpus=SimulatedGpus(",".join(one.name for one in whole))).stdout)

    assert [(one["name"], one["total"]) for one in found["cuda"]] == [(one.card, one.memory) for one in whole]
    told = [(one["name"], one["total"] if one["answer"] == 0 else None) for one in found["nvml"]["devices"]]
    assert told == [(one.card, None if one.integrated else one.nvml_memory) for one in whole]


@pytest.mark.parametrize("name", [profile.name for profile in profiles() if profile.mig_slice])
def test_cuda_shows_a_slice_and_nvml_its_gpu(run_program: Any, name: str) -> None:
    """Two slices of a card are one GPU."""
    found = json.loads(run_program("describe.py", gpus=SimulatedGpus(f"2x{name}")).stdout)

    profile = named(name)
    assert [(one["name"], one["total"]) for one in found["cuda"]] == [(profile.cuda_name, profile.memory)]
    assert {one["name"] for one in found["nvml"]["devices"]} == {profile.card}
