"""CUDA_VISIBLE_DEVICES as the driver reads it, and ordinals matched to NVML's cards."""

import pytest

from gpumem_core.devices.assumed import AssumedDevicesError, parse_assumed
from gpumem_core.devices.nvml import NvmlDevice
from gpumem_core.devices.probe import _ordinals
from gpumem_core.devices.visible_devices import VisibleDevices, match_uuid, parse_visible_devices
from gpumem_core.sizes import GIB

A, B = "GPU-0a1b2c3d-1111-2222-3333-444455556666", "GPU-0b1b2c3d-1111-2222-3333-444455556666"
MIG = "MIG-5555"


@pytest.mark.parametrize(
    ("text", "ordinals"),
    [
        ("0", (0,)),
        ("2,0", (2, 0)),
        ("0,-1,1", (0,)),
        ("0,0", ()),
        ("1gpu2,2ampere", (1, 2)),
        ("0-2", (0,)),
        ("", ()),
        ("-1", ()),
        ("all", ()),
        ("NoDevFiles", ()),
        ("RR", ()),
        (" 1 , 0 ", (1, 0)),
        ("0,GPU-aaaa", (0,)),
    ],
)
def test_the_list_ends_at_its_first_invalid_entry(text, ordinals):
    assert parse_visible_devices(text) == VisibleDevices(ordinals=ordinals)


@pytest.mark.parametrize(
    ("text", "uuids"),
    [
        (A, (A,)),
        ("GPU-aaaa,0", ("GPU-aaaa",)),
        (f"{A},{A}", ()),
        (f"{MIG},{A}", (MIG, A)),
        ("MIG-GPU-1/1/2", ("MIG-GPU-1/1/2",)),
    ],
)
def test_uuids_and_their_beginnings_are_kept_as_written(text, uuids):
    assert parse_visible_devices(text) == VisibleDevices(uuids=uuids)


def test_an_unset_variable_shows_everything():
    assert parse_visible_devices(None).everything


def test_a_beginning_of_a_uuid_matches_in_any_case():
    assert match_uuid("gpu-0A", (A, B)) == (A,)
    assert match_uuid("GPU-0", (A, B)) == (A, B)


def cards(*totals, names=None):
    return [
        NvmlDevice(i, (A, B)[i], (names or ["N"] * len(totals))[i], total, total and total - i * GIB)
        for i, total in enumerate(totals)
    ]


def matched(visible, found, order=""):
    return _ordinals(parse_visible_devices(visible), found, found, order, "")


def test_equal_cards_have_a_total_but_no_certain_uuid():
    devices = matched("1,0", cards(16 * GIB, 16 * GIB))
    assert [(d.ordinal, d.uuid, d.total, d.free) for d in devices.found] == [
        (0, None, 16 * GIB, 15 * GIB),
        (1, None, 16 * GIB, 15 * GIB),
    ]
    assert not devices.ambiguous


def test_the_order_of_the_bus_makes_ordinals_certain():
    devices = matched("1,0", cards(16 * GIB, 8 * GIB), "PCI_BUS_ID")
    assert [(d.uuid, d.total) for d in devices.found] == [(B, 8 * GIB), (A, 16 * GIB)]


@pytest.mark.parametrize("order", ["", "FASTEST_FIRST"])
def test_unequal_cards_are_ambiguous_and_the_smallest_total_counts(order):
    devices = matched(None, cards(16 * GIB, 8 * GIB), order)
    assert devices.ambiguous
    assert (devices.total(0), devices.total(1)) == (8 * GIB, 8 * GIB)


def test_uuids_make_ordinals_certain():
    devices = matched(f"{B},{A}", cards(16 * GIB, 8 * GIB))
    assert [(d.ordinal, d.uuid, d.total) for d in devices.found] == [(0, B, 8 * GIB), (1, A, 16 * GIB)]
    assert not devices.ambiguous


@pytest.mark.parametrize("visible", ["GPU-0", "GPU-ff", "5", "RR", ""])
def test_what_means_no_card_ends_the_list(visible):
    devices = matched(visible, cards(16 * GIB, 16 * GIB))
    assert (devices.found, devices.complete) == ((), True)


def test_a_total_that_nvml_does_not_tell_is_unknown():
    devices = matched(None, cards(None, None))
    assert devices.smallest_total is None


@pytest.mark.parametrize(
    ("text", "totals"),
    [
        ("16GiB", [16]),
        ("2x16GiB", [16, 16]),
        ("2X16GiB, 8GiB", [16, 16, 8]),
        ("2 x 16 GiB", [16, 16]),
        ("none", []),
        ("None", []),
    ],
)
def test_assumed_devices_are_counted(text, totals):
    devices = parse_assumed(text)
    assert [d.total for d in devices.found] == [t * GIB for t in totals]
    assert (devices.source, devices.complete, devices.driver) == ("assumed", True, bool(totals))


@pytest.mark.parametrize("text", ["2x", "x16GiB", "0x16GiB", "16", "16GiB,", "50%", "2x50%", "two", "-1x16GiB"])
def test_what_declares_no_device_is_refused(text):
    with pytest.raises(AssumedDevicesError, match="declares no device"):
        parse_assumed(text)
