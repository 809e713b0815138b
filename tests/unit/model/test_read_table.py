"""A table from any source becomes declarations and faults; nothing is ever raised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumem_core.model.origin import Origin, Rank
from gpumem_core.model.read_table import read_table
from gpumem_core.sizes import Size


def place(path):
    return Origin(Rank.ARGUMENTS, ".".join(path))


def keys(table, **more):
    declared = read_table(table, place, **more)
    assert not declared.faults, declared.faults
    return {item.key: item.value for item in declared.declarations}


def faults(table, **more):
    return [str(fault) for fault in read_table(table, place, **more).faults]


def test_every_level_is_read_with_its_origin():
    table = {
        "cap": "1GiB",
        "devices": {"0": {"cap": "2GiB"}, "GPU-0a": {"fraction": 0.5}},
        "frameworks": {"Numbat": {"cap": "3GiB", "devices": {1: {"cap": "4GiB"}}, "options": {"a-b": 1}}},
    }
    assert keys(table) == {
        "cap": Size(bytes=1 << 30),
        "devices.0.cap": Size(bytes=2 << 30),
        "devices.GPU-0a.fraction": 0.5,
        "frameworks.numbat.cap": Size(bytes=3 << 30),
        "frameworks.numbat.devices.1.cap": Size(bytes=4 << 30),
        "frameworks.numbat.options.a-b": 1,
    }
    origins = [item.origin.text for item in read_table(table, place).declarations]
    assert "frameworks.Numbat.devices.1.cap" in origins


def test_none_is_unset_everywhere():
    assert keys({"cap": None, "devices": None, "frameworks": {"numbat": None, "quokka": {"cap": None}}}) == {}


def test_growth_is_the_other_way_to_say_preallocate():
    assert keys({"growth": True}) == {"preallocate": False}
    assert keys({"growth": False}) == {"preallocate": True}
    assert keys({"growth": "yes", "preallocate": "1GiB"}) == {"preallocate": Size(bytes=1 << 30)}
    assert keys({"growth": True, "preallocate": False}) == {"preallocate": False}


@pytest.mark.parametrize(
    ("growth", "preallocate"), [(True, True), (False, False), (False, "1GiB"), ("on", "true"), (1, 1)]
)
def test_contradictions_at_one_place_are_faults(growth, preallocate):
    (fault,) = faults({"growth": growth, "preallocate": preallocate})
    assert "contradicts" in fault


def test_growth_at_one_place_and_preallocation_at_another_is_no_contradiction():
    assert len(keys({"growth": True, "devices": {0: {"preallocate": True}}})) == 2


def test_hidden_is_short_for_seeing_nothing():
    assert keys({"frameworks": {"numbat": "Hidden "}}) == {"frameworks.numbat.visible": "none"}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"fracton": 0.5}, "did you mean fraction?"),
        ({"zebra": 1}, "Accepted: cap, fraction"),
        ({"share": 0.5}, "share cannot stand here, only under frameworks.F"),
        ({"devices": {0: {"visible": "all"}}}, "visible cannot stand here, only at the top or under frameworks.F"),
        ({"frameworks": {"numbat": {"frameworks": {}}}}, "frameworks cannot stand here, only at the top"),
        ({"frameworks": {"numbat": {"headroom": "1GiB"}}}, "headroom cannot stand here"),
        ({"frameworks": {"numbat": "8GiB"}}, "is not a table"),
        ({"frameworks": ["numbat"]}, "is not a table"),
        ({"devices": {"gpu0": {"cap": "1GiB"}}}, "neither an ordinal nor the beginning of a UUID"),
        ({"devices": {-1: {"cap": "1GiB"}}}, "neither an ordinal"),
        ({"devices": {True: {"cap": "1GiB"}}}, "neither an ordinal"),
        ({"devices": {0: "1GiB"}}, "is not a table"),
        ({"devices": {0: {"cap": "1GiB"}, "0": {"cap": "2GiB"}}}, "twice"),
        ({"devices": {"GPU-0A": {"cap": "1GiB"}, "gpu-0a": {"cap": "2GiB"}}}, "twice"),
        ({"frameworks": {"numbat": {"cap": "1GiB"}, "Numbat": {"cap": "2GiB"}}}, "twice"),
        ({"process_cap": "1GiB"}, "cannot act on it yet"),
        ({"processes_per_device": "auto"}, "cannot act on it yet"),
        ({"on-late": "warn"}, "did you mean on_late?"),
    ],
)
def test_a_fault_says_what_is_wrong_and_what_was_meant(table, said):
    (fault,) = faults(table)
    assert said in fault


def test_files_may_write_hyphens_or_underscores_but_not_both():
    assert keys({"on-late": "warn", "processes_per_device": 2}, kebab=True)["processes_per_device"] == 2
    (fault,) = faults({"on-late": "warn", "on_late": "error"}, kebab=True)
    assert "stands twice" in fault
    (fault,) = faults({"on-lat": "warn"}, kebab=True)
    assert "did you mean on-late?" in fault


def test_every_fault_is_listed_at_once():
    table = {"cap": "x", "fracton": 1, "devices": {"q": {}}, "frameworks": {"numbat": {"share": "y"}}}
    assert len(faults(table)) == 4


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["cap", "growth", "visible", "devices", "frameworks", "numbat", "0", "options", "on_late"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(["cap", "fraction", "preallocate", "devices", "frameworks", "ignore"]), ANYTHING)
)
def test_nothing_is_raised_whatever_the_table_holds(table):
    declared = read_table(table, place)
    assert all(item.field != "growth" for item in declared.declarations)
