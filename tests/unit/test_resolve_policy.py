"""Declarations become decisions: rank before place, and one card for each beginning of a UUID."""

import pytest

from gpumem_core.model.declaration import Declaration
from gpumem_core.model.device import Device
from gpumem_core.model.origin import Origin, Rank
from gpumem_core.resolve_policy import (
    LIMIT,
    ambiguous_device_keys,
    decide,
    matches,
    settle,
    unmatched_device_keys,
    with_canonical_names,
)
from gpumem_core.sizes import Size

GIB = 1 << 30
CARDS = (Device(0, "GPU-0a1b", total=GIB), Device(1, "GPU-0a2c", total=GIB))


def said(field, value, rank=Rank.ARGUMENTS, framework=None, device=None, option=None):
    return Declaration(field, value, Origin(rank, f"{rank.name} {framework} {device}"), framework, device, option)


def values(declarations, device=None, fields=LIMIT):
    return [item.value for item in decide(declarations, fields, "numbat", device)]


def test_the_stronger_source_wins_over_the_more_specific_place():
    declared = [said("cap", "file", Rank.PROJECT_FILE, "numbat", "0"), said("cap", "call", Rank.ARGUMENTS)]
    assert values(declared, CARDS[0]) == ["call"]


def test_inside_one_source_the_more_specific_place_wins():
    declared = [
        said("cap", "top"),
        said("cap", "device", device="0"),
        said("cap", "uuid", device="GPU-0a1b"),
        said("cap", "framework", framework="numbat"),
        said("cap", "both", framework="numbat", device="0"),
    ]
    assert values(declared, CARDS[0]) == ["both"]
    assert values(declared[:4], CARDS[0]) == ["framework"]
    assert values(declared[:3], CARDS[0]) == ["uuid"]
    assert values(declared[:2], CARDS[0]) == ["device"]
    assert values(declared, CARDS[1]) == ["framework"]
    assert values(declared, None) == ["framework"]


def test_cap_and_fraction_of_one_place_decide_together_and_are_replaced_together():
    declared = [said("cap", "c"), said("fraction", 0.5), said("fraction", 0.25, framework="numbat")]
    assert values(declared[:2]) == ["c", 0.5]
    assert values(declared) == [0.25]


def test_other_frameworks_do_not_decide():
    assert values([said("cap", "c", framework="quokka")]) == []


def test_a_key_means_a_device_by_ordinal_or_by_the_beginning_of_its_uuid_in_any_case():
    assert [matches(key, CARDS[0]) for key in ("0", "1", "GPU-0a1", "gpu-0A1B", "GPU-ff")] == [
        True,
        False,
        True,
        True,
        False,
    ]
    assert not matches("GPU-0a", Device(0))


def test_a_beginning_that_fits_two_cards_names_both():
    (fault,) = ambiguous_device_keys([said("cap", "c", device="GPU-0a")], CARDS)
    assert "GPU-0a1b and GPU-0a2c" in str(fault)
    assert ambiguous_device_keys([said("cap", "c", device="GPU-0a1")], CARDS) == ()


def test_keys_without_a_device_are_found():
    declared = [said("cap", "c", device="GPU-ff"), said("cap", "c", device="7"), said("cap", "c", device="1")]
    assert set(unmatched_device_keys(declared, CARDS)) == {"GPU-ff", "7"}


def test_a_name_whose_plugin_is_not_installed_says_how_to_install_it():
    _renamed, (fault,) = with_canonical_names([said("cap", "c", framework="wombat")], {}, {"wombat": "gpumem-wombat"})
    assert "pip install gpumem-wombat" in str(fault)


def test_options_are_settings_of_their_own():
    declared = [
        said("options", "file", Rank.PROJECT_FILE, "numbat", option="a"),
        said("options", "file", Rank.PROJECT_FILE, "numbat", option="b"),
        said("options", "call", Rank.ARGUMENTS, "numbat", option="a"),
    ]
    assert {name: item.value for name, item in settle(declared, "numbat").options.items()} == {"a": "call", "b": "file"}


@pytest.mark.parametrize(("rank", "named"), [(Rank.ARGUMENTS, True), (Rank.NATIVE, False), (Rank.SUGGESTION, False)])
def test_only_the_user_names_a_framework(rank, named):
    assert settle([said("cap", "c", rank, "numbat")], "numbat").named is named


def test_hidden_is_seeing_no_device():
    assert settle([said("visible", "none", framework="numbat")], "numbat").hidden
    assert not settle([said("visible", (0,), framework="numbat")], "numbat").hidden


def test_what_cannot_be_held_is_an_error_for_limits_and_a_warning_for_comfort():
    settings = settle([said("cap", Size(bytes=GIB))], "numbat")
    reactions = {
        f: settings.reaction_to_unsupported(f) for f in ("limit", "visible", "allocator", "preallocate", "options")
    }
    assert reactions == {
        "limit": "error",
        "visible": "error",
        "allocator": "warn",
        "preallocate": "warn",
        "options": "warn",
    }
