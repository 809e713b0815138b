"""Each field reads every value in one way, whatever the source."""

import pytest

from gpumem_core.model.declaration import UNLIMITED
from gpumem_core.model.fields import FIELD_SPECS, names_at
from gpumem_core.model.read_value import FieldError, nearest
from gpumem_core.sizes import Size


def read(field, value):
    return FIELD_SPECS[field].read(value)


@pytest.mark.parametrize("value", [0.5, "0.5", " 0.5 ", "50%", "50 %", ".5", "5e-1"])
def test_a_fraction_may_be_a_number_or_text_or_a_percentage(value):
    assert read("fraction", value) == 0.5


@pytest.mark.parametrize("value", [1, 1.0, "1", "1.0", "100%"])
def test_a_fraction_of_exactly_one_is_fine(value):
    assert read("fraction", value) == 1.0


@pytest.mark.parametrize(
    "value",
    [
        0,
        0.0,
        -0.0,
        "0",
        "-0.0",
        "0%",
        -1,
        "-1",
        float("nan"),
        "nan",
        float("inf"),
        "inf",
        "-inf",
        True,
        False,
        "true",
        ".XX",
        "0,5",
        "",
        "0.5.",
        "1_0",
        "\u0660.\u0665",
        "1e999",
        10**400,
        "9" * 5000,
        [0.5],
        b"0.5",
    ],
)
def test_what_is_no_fraction_is_refused(value):
    with pytest.raises(FieldError):
        read("fraction", value)


def test_a_size_given_as_a_fraction_is_sent_to_cap():
    with pytest.raises(FieldError) as caught:
        read("fraction", "8GiB")
    assert caught.value.suggestion == 'cap = "8GiB"'


def test_a_fraction_of_zero_says_how_to_ask_for_no_limit():
    with pytest.raises(FieldError, match='"none"'):
        read("fraction", 0)


@pytest.mark.parametrize("field", ["cap", "fraction"])
@pytest.mark.parametrize("value", ["none", "None", " NONE ", UNLIMITED])
def test_none_as_a_word_is_no_limit(field, value):
    assert read(field, value) is UNLIMITED


@pytest.mark.parametrize("field", ["preallocate", "headroom", "growth"])
def test_none_as_a_word_means_nothing_where_there_is_no_limit(field):
    with pytest.raises(FieldError):
        read(field, "none")


@pytest.mark.parametrize("field", ["growth", "preallocate"])
@pytest.mark.parametrize(
    ("value", "truth"),
    [
        (True, True),
        ("true", True),
        ("Yes", True),
        ("ON", True),
        ("1", True),
        (1, True),
        (False, False),
        ("false", False),
        ("no", False),
        (" off ", False),
        ("0", False),
        (0, False),
    ],
)
def test_yes_and_no_have_one_spelling_set_in_every_source(field, value, truth):
    assert read(field, value) is truth


@pytest.mark.parametrize("value", ["ja", "", 2, 1.0, None, "truee"])
def test_what_is_neither_yes_nor_no_is_refused(value):
    with pytest.raises(FieldError):
        read("growth", value)


def test_preallocate_may_be_a_size():
    assert read("preallocate", "1GiB") == Size(bytes=1 << 30)


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("all", "all"),
        ("NONE", "none"),
        ([0, 1], (0, 1)),
        ((1,), (1,)),
        ("0,1", (0, 1)),
        ("[0]", (0,)),
        ("[ 1 , 0 ]", (1, 0)),
        (range(2), (0, 1)),
    ],
)
def test_visible_is_a_word_or_a_list(value, seen):
    assert read("visible", value) == seen


@pytest.mark.parametrize(
    "value",
    [
        0,
        1,
        True,
        False,
        "0",
        "1",
        1.0,
        [],
        "[]",
        "",
        [True],
        [-1],
        ["0"],
        [0, 0],
        "0,0",
        {0},
        "some",
        "0;1",
        b"01",
        "1-2",
    ],
)
def test_visible_refuses_what_could_mean_several_things(value):
    with pytest.raises(FieldError):
        read("visible", value)


@pytest.mark.parametrize(("value", "hint"), [(1, "[1]"), ("1", '"[1]"'), (True, '"all" or "none"'), ([], '"none"')])
def test_visible_says_what_was_probably_meant(value, hint):
    with pytest.raises(FieldError) as caught:
        read("visible", value)
    assert caught.value.suggestion == hint


@pytest.mark.parametrize("field", ["on_late", "on_unsupported"])
def test_a_reaction_is_one_of_three_words_in_any_case(field):
    assert [read(field, word) for word in ("error", "WARN", " ignore ")] == ["error", "warn", "ignore"]
    with pytest.raises(FieldError) as caught:
        read(field, "warning")
    assert caught.value.suggestion == '"warn"'


def test_an_unknown_allocator_lists_the_words():
    with pytest.raises(FieldError, match="default, pool, async, direct, vmm, managed") as caught:
        read("allocator", "pol")
    assert caught.value.suggestion == '"pool"'


@pytest.mark.parametrize(("value", "count"), [(1, 1), (8, 8), ("2", 2), ("auto", "auto"), ("AUTO", "auto")])
def test_processes_are_counted_from_one(value, count):
    assert read("processes_per_device", value) == count


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "0", "-1", "many", "", "1.0", "9" * 5000])
def test_what_is_no_count_of_processes_is_refused(value):
    with pytest.raises(FieldError):
        read("processes_per_device", value)


@pytest.mark.parametrize("value", [["GM204"], ("gm204",), "GM204", "[GM204]", '["GM204"]', "GM204,"])
def test_ignored_codes_are_a_list_or_a_text(value):
    assert read("ignore", value) == ("GM204",)


@pytest.mark.parametrize("value", [["204"], "all", [204], 204, {"GM204": 1}.keys(), ["GM2044"]])
def test_what_is_no_warning_code_is_refused(value):
    with pytest.raises(FieldError):
        read("ignore", value)


@pytest.mark.parametrize("value", ["x", {"a": []}, {"": 1}, {1: 1}, {"a": None}])
def test_options_are_a_table_of_plain_values(value):
    with pytest.raises(FieldError):
        read("options", value)


def test_every_field_says_what_it_accepts_and_means():
    for spec in FIELD_SPECS.values():
        assert spec.accepted, spec.name
        assert spec.meaning.endswith("."), spec.name
        assert spec.levels, spec.name


def test_devices_take_only_what_can_differ_by_device():
    assert set(names_at("device")) == {"cap", "fraction", "preallocate", "growth", "headroom"}
    assert "visible" not in names_at("framework_device")
    assert {"share", "options", "devices", "on_late"} <= set(names_at("framework"))


def test_a_near_word_is_found_and_a_far_one_is_not():
    assert nearest("fracton", names_at("policy")) == "fraction"
    assert nearest("zebra", names_at("policy")) == ""
