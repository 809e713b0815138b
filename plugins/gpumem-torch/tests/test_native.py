"""What the user's own variables mean to PyTorch, release by release."""

from __future__ import annotations

import pytest

from gpumem_torch.native import read_native
from gpumem_torch.variables import deciding_name, text_to_extend

CUDA, NEW, HIP, OFF = (
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
)
OLD, NEWEST = {"torch": "2.9.1"}, {"torch": "2.14.1"}


def settings(environ: dict[str, str], versions: dict[str, str]) -> dict[str, object]:
    return {item.field: item.value for item in read_native(environ, versions).settings}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("backend:cudaMallocAsync", {"allocator": "async"}),
        ("expandable_segments:True", {"allocator": "vmm"}),
        ("backend:native", {"allocator": "pool"}),
        ("max_split_size_mb:64", {}),
        ("per_process_memory_fraction:0.25", {"fraction": 0.25}),
        ("per_process_memory_fraction:1.0", {}),
        ("backend:cudaMallocAsync,per_process_memory_fraction:0.25", {"allocator": "async"}),
        ("", {}),
    ],
)
def test_the_string_decides_the_allocator_and_the_fraction(text: str, expected: dict[str, object]) -> None:
    """Only what is in force is a setting: cudaMallocAsync ignores the fraction of the string."""
    assert settings({CUDA: text}, NEWEST) == expected


def test_which_name_counts_depends_on_the_release() -> None:
    """Up to 2.9 only the CUDA name; from 2.10 on it wins over the new one, even when it is set to nothing."""
    both = {CUDA: "expandable_segments:True", NEW: "backend:cudaMallocAsync"}
    assert [settings(both, v) for v in (OLD, NEWEST)] == [{"allocator": "vmm"}] * 2
    new = {NEW: "expandable_segments:True"}
    assert [settings(new, v) for v in (OLD, NEWEST)] == [{}, {"allocator": "vmm"}]
    assert settings({CUDA: "", **new}, NEWEST) == {}
    assert deciding_name({CUDA: "", **new}, (2, 14)) == CUDA
    assert text_to_extend({CUDA: "", **new}, (2, 14)) == "expandable_segments:True"


@pytest.mark.parametrize(
    ("environ", "versions", "variable", "words"),
    [
        ({NEW: "expandable_segments:True"}, OLD, NEW, "not read for GPU memory before PyTorch 2.10"),
        ({CUDA: "", NEW: "expandable_segments:True"}, NEWEST, NEW, "set, though to nothing"),
        ({CUDA: "backend:native", NEW: "expandable_segments:True"}, NEWEST, NEW, "counts alone"),
        ({HIP: "max_split_size_mb:64"}, NEWEST, HIP, "decides some keys and not others"),
        ({OFF: "0"}, {"torch": "2.6.0"}, OFF, "whatever its value is"),
        ({OFF: "true"}, NEWEST, OFF, "only the value 1"),
        ({CUDA: "max_split_size_mb:64MB"}, NEWEST, CUDA, "read as 64"),
        (
            {CUDA: "backend:cudaMallocAsync,per_process_memory_fraction:0.5"},
            NEWEST,
            CUDA,
            "no limit is in force",
        ),
        ({CUDA: "expandable_segments:True,max_split_size_mb:32"}, NEWEST, CUDA, "pytorch/pytorch#119452"),
    ],
)
def test_what_misleads_is_told_with_what_is_in_force(
    environ: dict[str, str], versions: dict[str, str], variable: str, words: str
) -> None:
    """Such a fault is not fatal."""
    faults = read_native(environ, versions).faults
    assert [(fault.variable, fault.fatal) for fault in faults] == [(variable, False)]
    assert words in faults[0].problem


@pytest.mark.parametrize(
    ("text", "versions", "words"),
    [
        ("foo", NEWEST, "ends the process at `import torch`"),
        ("foo", OLD, "raises when the GPU is first used"),
        ("foo:1", NEWEST, "a second try may crash"),
        ("expandable_segments:true", NEWEST, "accepted: True or False"),
        ("per_process_memory_fraction:0.5", OLD, "no key of this release"),
        ("per_process_memory_fraction:0", NEWEST, "no GPU memory can be allocated"),
    ],
)
def test_what_costs_the_gpu_is_fatal(text: str, versions: dict[str, str], words: str) -> None:
    """The fault says what happens, and nothing of such a string is taken for a setting."""
    reading = read_native({CUDA: text}, versions)
    assert reading.settings == ()
    assert reading.faults[0].fatal
    assert words in reading.faults[0].problem


@pytest.mark.parametrize(
    ("value", "version", "off"),
    [("0", "2.5.1", True), ("", "2.6.0", True), ("0", "2.7.1", False), ("", "2.14.1", False), ("1", "2.14.1", True)],
)
def test_presence_counts_up_to_2_6_and_the_value_1_since(value: str, version: str, off: bool) -> None:
    """PYTORCH_NO_CUDA_MEMORY_CACHING, as tried with these releases."""
    assert settings({OFF: value}, {"torch": version}) == ({"allocator": "direct"} if off else {})


def test_an_unknown_version_is_read_without_complaint_about_keys() -> None:
    """Without metadata nobody knows which keys there are."""
    assert read_native({CUDA: "some_new_key:1"}, {}).faults[0].fatal is False
