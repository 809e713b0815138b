"""`Policy`: frozen, checked at once with every fault, and the same after pickling."""

import dataclasses
import pickle

import pytest

import gpumem
from gpumem import DevicePolicy, FrameworkPolicy, Policy, PolicyError
from gpumem_core.model.origin import Origin, Rank

POLICY = Policy(
    cap="8GiB",
    growth=True,
    devices={1: DevicePolicy(cap="2GiB"), "GPU-0a": {"fraction": 0.5}},
    frameworks={"numbat": FrameworkPolicy(allocator="pool", options={"x": 1}), "quokka": "hidden"},
    ignore=["GM204"],
)


def test_a_policy_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        POLICY.cap = "1GiB"


def test_a_policy_is_equal_after_pickling():
    assert pickle.loads(pickle.dumps(POLICY)) == POLICY


def test_a_policy_is_equal_after_its_own_table():
    table = POLICY.to_dict()
    assert Policy.from_mapping(table).to_dict() == table
    place = Origin(Rank.ARGUMENTS, "x")
    assert Policy.from_mapping(table).declared(lambda _: place) == POLICY.declared(lambda _: place)


def test_every_fault_stands_in_one_error():
    with pytest.raises(PolicyError) as caught:
        Policy(cap="8 gibibytes", fraction=0, visible=1)
    assert [fault.key for fault in caught.value.faults] == ["cap", "fraction", "visible"]
    text = str(caught.value)
    assert "3 faults" in text
    assert "nothing was changed" in text
    assert "[1]" in text


def test_a_policy_error_is_a_value_error_and_never_a_runtime_error():
    assert issubclass(PolicyError, ValueError)
    for name in gpumem.__all__:
        kind = getattr(gpumem, name)
        if isinstance(kind, type) and issubclass(kind, gpumem.GpumemError):
            assert not issubclass(kind, RuntimeError), name
            assert kind.__module__ == "gpumem", name


def test_unknown_keys_of_a_table_are_faults():
    with pytest.raises(PolicyError, match="did you mean fraction"):
        Policy.from_mapping({"fracton": 0.5})


def test_a_faulty_override_is_found_in_the_constructor():
    with pytest.raises(PolicyError, match=r"devices\.0\.cap"):
        Policy(devices={0: {"cap": "x"}})
    with pytest.raises(PolicyError, match=r"frameworks\.numbat\.growth"):
        Policy(frameworks={"numbat": FrameworkPolicy(growth="perhaps")})
