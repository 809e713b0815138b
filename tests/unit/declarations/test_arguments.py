"""The arguments of `configure`: a policy, and fields beside it that override it."""

import pytest

from gpumem import Policy, PolicyError
from gpumem_core import suggestions
from gpumem_core.declarations.arguments import read_arguments, read_suggestions
from gpumem_core.model.origin import Rank
from gpumem_core.sizes import Size


def declared(policy=None, **fields):
    found = read_arguments(policy, fields, "train.py:3")
    assert not found.faults, found.faults
    return {item.key: item.value for item in found.declarations}


def test_a_policy_and_a_table_say_the_same():
    assert declared(Policy(cap="1GiB", growth=True)) == declared({"cap": "1GiB", "growth": True})
    assert declared(Policy(cap="1GiB")) == declared(cap="1GiB") == {"cap": Size(bytes=1 << 30)}


def test_fields_beside_a_policy_override_it():
    assert declared(Policy(cap="1GiB", on_late="warn"), cap="2GiB") == {"cap": Size(bytes=2 << 30), "on_late": "warn"}


def test_cap_and_fraction_are_replaced_together_as_are_preallocate_and_growth():
    assert declared(Policy(cap="1GiB"), fraction=0.5) == {"fraction": 0.5}
    assert declared({"growth": True}, preallocate="1GiB") == {"preallocate": Size(bytes=1 << 30)}


def test_an_unset_field_overrides_nothing():
    assert declared(Policy(cap="1GiB"), cap=None) == {"cap": Size(bytes=1 << 30)}


def test_every_value_comes_from_the_line_of_the_call():
    (item,) = read_arguments(None, {"cap": "1GiB"}, "train.py:3").declarations
    assert (item.origin.rank, str(item.origin)) == (Rank.ARGUMENTS, "train.py:3")


@pytest.mark.parametrize("policy", ["8GiB", 8 << 30, ["cap"], object()])
def test_what_is_no_policy_is_refused_and_not_taken_for_an_empty_one(policy):
    found = read_arguments(policy, {}, "train.py:3")
    assert found.faults
    assert "cap=" in str(found.faults[0])


def test_a_faulty_suggestion_is_left_out_with_a_note():
    suggestions.prefer(cap="8 gigs")
    suggestions.prefer(growth=True)
    found = read_suggestions()
    suggestions.forget()
    assert [item.key for item in found.declarations] == ["preallocate"]
    assert "8 gigs" in found.notes[0]
    assert not found.faults


def test_policy_error_lists_faults_with_the_line():
    found = read_arguments(None, {"cap": "x", "nonsense": 1}, "train.py:3")
    assert str(PolicyError(found.faults)).count("train.py:3") == 2
