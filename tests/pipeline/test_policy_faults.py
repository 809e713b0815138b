"""Faults that only show when all sources are put together."""

import os

import pytest

import gpumem
from gpumem import GpumemWarning, PolicyError
from gpumem_core.sizes import GIB, MIB


@pytest.mark.usefixtures("numbat")
def test_a_fraction_above_one_needs_managed_memory():
    with pytest.raises(PolicyError, match=r'only the allocator "managed" allows'):
        gpumem.configure(fraction=2.5)
    gpumem.configure(fraction=2.5, frameworks={"numbat": {"allocator": "managed"}})
    assert os.environ["NUMBAT_LIMIT"] == str(40 * GIB)


@pytest.mark.usefixtures("numbat")
def test_a_percentage_written_as_a_fraction_is_recognised():
    with pytest.raises(PolicyError, match=r"did you mean 0\.5"):
        gpumem.configure(fraction=50)


@pytest.mark.parametrize("policy", [{"preallocate": True}, {"growth": False}, {"preallocate": True, "cap": "none"}])
@pytest.mark.usefixtures("numbat")
def test_the_whole_limit_cannot_be_taken_ahead_without_a_limit(policy):
    with pytest.raises(PolicyError, match=r"has no limit.*cap = "):
        gpumem.configure(policy)


@pytest.mark.usefixtures("numbat")
def test_a_share_of_a_card_is_a_limit_to_take_ahead():
    gpumem.configure(preallocate=True, processes_per_device=2)
    assert os.environ["NUMBAT_LIMIT"] == str(8 * GIB - 512 * MIB)
    gpumem.configure(preallocate=True, headroom="1GiB")
    assert os.environ["NUMBAT_LIMIT"] == str(15 * GIB)


@pytest.mark.usefixtures("numbat", "quokka")
def test_a_hidden_framework_needs_no_limit():
    gpumem.configure(preallocate=True, frameworks={"numbat": "hidden", "quokka": {"cap": "1GiB"}})
    assert os.environ["NUMBAT_VISIBLE"] == ""


@pytest.mark.usefixtures("numbat")
def test_all_faults_of_all_sources_stand_in_one_error(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem]\nallocater = "pool"\n')
    monkeypatch.setenv("GPUMEM_GROWTH", "perhaps")
    monkeypatch.setenv("GPUMEM_ASSUME_DEVICES", "2x")
    with pytest.raises(PolicyError) as caught:
        gpumem.configure(cap="x")
    assert [fault.key for fault in caught.value.faults] == [
        "cap",
        "GPUMEM_GROWTH",
        "allocater",
        "GPUMEM_ASSUME_DEVICES",
    ]


@pytest.mark.usefixtures("numbat")
def test_a_small_size_warns_with_the_bytes_that_were_read():
    with pytest.warns(GpumemWarning, match=r"GM101.*cap .*33554432 bytes"):
        gpumem.configure(cap="32MiB")


@pytest.mark.usefixtures("numbat")
def test_an_impossible_share_names_the_largest_number_of_processes_that_fits():
    with pytest.raises(PolicyError, match=r"at most 31 processes fit") as caught:
        gpumem.configure(processes_per_device=64)
    assert "512MiB with 64 processes leaves 0 bytes" in str(caught.value)


@pytest.mark.usefixtures("numbat", "quokka")
def test_more_taken_ahead_than_a_device_has_warns():
    with pytest.warns(GpumemWarning, match=r"GM106.*device [01].*numbat.*quokka"):
        gpumem.configure(cap="12GiB", preallocate=True)


@pytest.mark.usefixtures("numbat")
def test_a_device_that_is_not_there_is_told():
    with pytest.warns(GpumemWarning, match=r"GM108: devices.5 \(.*\) means no device that this process sees"):
        gpumem.configure(cap="8GiB", devices={5: {"cap": "1GiB"}})


@pytest.mark.usefixtures("numbat")
def test_faults_of_every_kind_stand_in_one_error(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem]\ncpa = "3GiB"\n[tool.gpumem.frameworks.numbta]\ncap = 1\n')
    with pytest.raises(PolicyError) as caught:
        gpumem.configure(fraction=50, allocator="pol", frameworks={"nmubat": {"growth": True}})
    keys = [fault.key for fault in caught.value.faults]
    assert set(keys) == {"cpa", "frameworks.numbta.cap", "fraction", "allocator", "frameworks.nmubat"}


@pytest.mark.usefixtures("numbat")
def test_a_uuid_cannot_be_matched_to_assumed_devices():
    with pytest.raises(PolicyError, match=r"GPU-0a.*assumed devices"):
        gpumem.configure(devices={"GPU-0a": {"cap": "1GiB"}})


@pytest.mark.usefixtures("numbat")
def test_without_a_driver_nothing_applies_and_nothing_is_said(monkeypatch, environ):
    monkeypatch.setenv("GPUMEM_ASSUME_DEVICES", "none")
    before = environ()
    report = gpumem.configure(cap="8GiB", devices={3: {"cap": "1GiB"}})
    assert {row.state for row in report.rows} == {"not_applicable"}
    assert report.ok
    assert {k: v for k, v in environ().items() if not k.startswith("NUMBAT")} == before


@pytest.mark.usefixtures("numbat")
def test_an_empty_policy_is_fine():
    assert gpumem.configure({}).rows == ()


@pytest.mark.usefixtures("numbat")
def test_more_taken_ahead_than_the_cap_at_the_same_place_is_an_error():
    with pytest.raises(PolicyError, match=r"preallocate .*: 30GiB taken ahead is more than the cap of 20GiB"):
        gpumem.configure(cap="20GiB", preallocate="30GiB")


@pytest.mark.usefixtures("numbat")
def test_a_size_ahead_that_reaches_a_cap_from_a_stronger_source_is_the_whole_cap(monkeypatch):
    monkeypatch.setenv("GPUMEM_CAP", "2GiB")
    gpumem.configure(preallocate="4GiB")
    assert [row.asked for row in gpumem.report().rows_of("numbat", "preallocate")] == ["4GiB"]
    assert os.environ["NUMBAT_LIMIT"] == str(2 * GIB)
