"""`GPUMEM_*` variables: each is a key of the policy, and a near miss is an error."""

import pytest

from gpumem_core.declarations.environment import CONTROLS, read_environment
from gpumem_core.sizes import Size


def declared(**environ):
    found = read_environment(environ)
    assert not found.faults, found.faults
    assert not found.warnings, found.warnings
    return {item.key: item.value for item in found.declarations}


def faults(**environ):
    return [str(fault) for fault in read_environment(environ).faults]


def test_every_level_of_the_policy_has_a_variable():
    assert declared(
        GPUMEM_CAP="4GiB",
        GPUMEM_GROWTH="1",
        GPUMEM_FRAMEWORKS__NUMBAT__FRACTION="0.6",
        GPUMEM_FRAMEWORKS__NUMBAT__DEVICES__1__CAP="1GiB",
        GPUMEM_FRAMEWORKS__NUMBAT__OPTIONS__SPLIT_MB="64",
        GPUMEM_DEVICES__0__CAP="2GiB",
        GPUMEM_FRAMEWORKS__QUOKKA="hidden",
        GPUMEM_IGNORE="GM204,GM101",
    ) == {
        "cap": Size(bytes=4 << 30),
        "preallocate": False,
        "frameworks.numbat.fraction": 0.6,
        "frameworks.numbat.devices.1.cap": Size(bytes=1 << 30),
        "frameworks.numbat.options.split_mb": "64",
        "devices.0.cap": Size(bytes=2 << 30),
        "frameworks.quokka.visible": "none",
        "ignore": ("GM204", "GM101"),
    }


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("GPUMEM_DEVICES__GPU_0A1B__CAP", "devices.GPU-0a1b.cap"),
        ("GPUMEM_DEVICES__gpu_0a1b__CAP", "devices.GPU-0a1b.cap"),
        (
            "GPUMEM_DEVICES__GPU_0A1B2C3D_1111_2222_3333_444455556666__CAP",
            "devices.GPU-0a1b2c3d-1111-2222-3333-444455556666.cap",
        ),
        ("GPUMEM_DEVICES__MIG_0A1B__CAP", "devices.MIG-0a1b.cap"),
        ("GPUMEM_FRAMEWORKS__NUMBAT__DEVICES__GPU_0A__CAP", "frameworks.numbat.devices.GPU-0a.cap"),
    ],
)
def test_a_uuid_is_written_with_underscores_for_its_dashes(name, key):
    assert declared(**{name: "2GiB"}) == {key: Size(bytes=2 << 30)}


@pytest.mark.parametrize("value", ["", "  ", "\t"])
def test_an_empty_variable_is_an_unset_one(value):
    assert declared(GPUMEM_CAP=value, GPUMEM_NO_SUCH=value, GPUMEM_FRACTION="0.5") == {"fraction": 0.5}


def test_each_value_names_its_variable():
    environ = {"GPUMEM_CAP": "1GiB", "GPUMEM_FRAMEWORKS__NUMBAT": "hidden", "GPUMEM_GROWTH": "true"}
    origins = {item.key: str(item.origin) for item in read_environment(environ).declarations}
    assert origins == {
        "cap": "environment GPUMEM_CAP",
        "frameworks.numbat.visible": "environment GPUMEM_FRAMEWORKS__NUMBAT",
        "preallocate": "environment GPUMEM_GROWTH",
    }


def test_a_fault_names_the_variable_and_the_accepted_forms():
    (fault,) = faults(GPUMEM_FRAMEWORKS__NUMBAT__CAP="8 gigs")
    assert fault.startswith("GPUMEM_FRAMEWORKS__NUMBAT__CAP (environment GPUMEM_FRAMEWORKS__NUMBAT__CAP): '8 gigs'")
    assert '"8GiB"' in fault


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("GPUMEM_FRACTON", "GPUMEM_FRACTION"),
        ("GPUMEM_CAPS", "GPUMEM_CAP"),
        ("GPUMEM_PROFIL", "GPUMEM_PROFILE"),
        ("GPUMEM_ASSUMED_DEVICES", "GPUMEM_ASSUME_DEVICES"),
        ("GPUMEM_FRAMEWORK__NUMBAT__CAP", "GPUMEM_FRAMEWORKS__NUMBAT__CAP"),
        ("GPUMEM_FRAMEWORKS_NUMBAT_CAP", "GPUMEM_FRAMEWORKS__NUMBAT__CAP"),
        ("GPUMEM_DEVICES_0_CAP", "GPUMEM_DEVICES__0__CAP"),
    ],
)
def test_a_near_miss_is_an_error_that_says_what_was_meant(name, meant):
    (fault,) = faults(**{name: "0.5"})
    assert f"did you mean {meant}?" in fault


@pytest.mark.parametrize(
    "name", ["GPUMEM_FRAMEWORKS__NUMBAT__CAPP", "GPUMEM_DEVICES__0__VISIBLE", "GPUMEM_DEVICES__X__CAP"]
)
def test_an_unknown_key_further_down_is_an_error(name):
    assert len(faults(**{name: "1GiB"})) == 1


def test_an_unknown_name_that_is_near_to_nothing_is_a_warning():
    found = read_environment({"GPUMEM_ZEBRA": "1"})
    assert not found.faults
    assert [code for code, _text in found.warnings] == ["GM102"]


@pytest.mark.parametrize(
    "name",
    [
        "GPUMEM_SERVICE_HOST",
        "GPUMEM_SERVICE_PORT",
        "GPUMEM_SERVICE_PORT_HTTP",
        "GPUMEM_PORT",
        "GPUMEM_PORT_8080_TCP",
        "GPUMEM_PORT_8080_TCP_ADDR",
        "GPUMEM_PORT_8080_UDP_PROTO",
        "GPUMEM_API_SERVICE_HOST",
        "GPUMEM_API_PORT_443_TCP_PORT",
    ],
)
def test_what_kubernetes_makes_of_a_service_of_our_name_is_not_ours(name):
    assert declared(**{name: "tcp://10.0.0.1:8080"}) == {}


def test_the_same_key_in_two_spellings_is_an_error():
    (fault,) = faults(GPUMEM_CAP="1GiB", GPUMEM_cap="2GiB")
    assert "means the same as GPUMEM_CAP" in fault


def test_a_table_cannot_have_a_value_of_its_own():
    (fault,) = faults(GPUMEM_FRAMEWORKS__NUMBAT="hidden", GPUMEM_FRAMEWORKS__NUMBAT__CAP="1GiB")
    assert "value of its own" in fault
    (fault,) = faults(GPUMEM_CAP__X="1GiB")
    assert "GPUMEM_CAP__X" in fault


def test_an_empty_part_of_a_name_is_an_error():
    (fault,) = faults(GPUMEM_FRAMEWORKS____CAP="1GiB")
    assert "empty part" in fault


def test_variables_that_only_choose_are_no_fields():
    assert declared(**dict.fromkeys(CONTROLS, "x")) == {}


@pytest.mark.parametrize("name", ["GPUMEM_DISABLE", "GPUMEM_PLUGINS", "GPUMEM_REPORT", "GPUMEM_STATE"])
def test_a_name_of_a_later_version_is_told_to_have_no_effect(name):
    declared = read_environment({name: "1"})
    assert declared.faults == ()
    assert declared.warnings == (("GM102", f"the variable {name} has no effect in this version of gpumem"),)
