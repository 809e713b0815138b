"""Faults that only show when all sources are put together."""

import os

import pytest

import gpumem
from gpumem import GpumemWarning, PolicyError
from gpumem_core.sizes import GIB, MIB


def test_a_fraction_above_one_needs_managed_memory(numbat):
    with pytest.raises(PolicyError, match='only the allocator "managed" allows'):
        gpumem.configure(fraction=2.5)
    gpumem.configure(fraction=2.5, frameworks={"numbat": {"allocator": "managed"}})
    assert os.environ["NUMBAT_LIMIT"] == str(40 * GIB)


def test_a_percentage_written_as_a_fraction_is_recognised(numbat):
    with pytest.raises(PolicyError, match="did you mean 0.5"):
        gpumem.configure(fraction=50)


@pytest.mark.parametrize("policy", [{"preallocate": True}, {"growth": False}, {"preallocate": True, "cap": "none"}])
def test_the_whole_limit_cannot_be_taken_ahead_without_a_limit(numbat, policy):
    with pytest.raises(PolicyError, match="has no limit.*cap = "):
        gpumem.configure(policy)


def test_a_share_of_a_card_is_a_limit_to_take_ahead(numbat):
    gpumem.configure(preallocate=True, processes_per_device=2)
    assert os.environ["NUMBAT_LIMIT"] == str(8 * GIB - 512 * MIB)
    gpumem.configure(preallocate=True, headroom="1GiB")
    assert os.environ["NUMBAT_LIMIT"] == str(15 * GIB)


def test_a_hidden_framework_needs_no_limit(numbat, quokka):
    gpumem.configure(preallocate=True, frameworks={"numbat": "hidden", "quokka": {"cap": "1GiB"}})
    assert os.environ["NUMBAT_VISIBLE"] == ""


def test_all_faults_of_all_sources_stand_in_one_error(numbat, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem]\nallocater = "pool"\n')
    monkeypatch.setenv("GPUMEM_GROWTH", "perhaps")
    monkeypatch.setenv("GPUMEM_ASSUME_DEVICES", "2x")
    with pytest.raises(PolicyError) as caught:
        gpumem.configure(cap="x")
    assert [fault.key for fault in caught.value.faults] == ["cap", "GPUMEM_GROWTH", "allocater", "GPUMEM_ASSUME_DEVICES"]


def test_a_small_size_warns_with_the_bytes_that_were_read(numbat):
    with pytest.warns(GpumemWarning, match="GM101.*cap .*33554432 bytes"):
        gpumem.configure(cap="32MiB")


def test_an_impossible_share_names_the_largest_number_of_processes_that_fits(numbat):
    with pytest.raises(PolicyError, match="at most 31 processes fit") as caught:
        gpumem.configure(processes_per_device=64)
    assert "512MiB with 64 processes leaves 0 bytes" in str(caught.value)


def test_more_taken_ahead_than_a_device_has_warns(numbat, quokka):
    with pytest.warns(GpumemWarning, match="GM106.*device [01].*numbat.*quokka"):
        gpumem.configure(cap="12GiB", preallocate=True)


def test_a_device_that_is_not_there_is_a_note(numbat):
    report = gpumem.configure(cap="8GiB", devices={5: {"cap": "1GiB"}})
    assert any("devices.5" in note and "no device" in note for note in report.notes)


def test_a_uuid_cannot_be_matched_to_assumed_devices(numbat):
    with pytest.raises(PolicyError, match="GPU-0a.*assumed devices"):
        gpumem.configure(devices={"GPU-0a": {"cap": "1GiB"}})


def test_without_a_driver_nothing_applies_and_nothing_is_said(numbat, monkeypatch, environ):
    monkeypatch.setenv("GPUMEM_ASSUME_DEVICES", "none")
    before = environ()
    report = gpumem.configure(cap="8GiB", devices={3: {"cap": "1GiB"}})
    assert {row.state for row in report.rows} == {"not_applicable"}
    assert report.ok
    assert {k: v for k, v in environ().items() if not k.startswith("NUMBAT")} == before


def test_an_empty_policy_is_fine(numbat):
    assert gpumem.configure({}).rows == ()
