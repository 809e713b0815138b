"""The journal writes variables and gives them back exactly."""

from hypothesis import given
from hypothesis import strategies as st

from gpumem_core.applying.variables import VariableJournal

NAMES = st.sampled_from(["A", "B", "C"])
VALUES = st.none() | st.sampled_from(["", "1", "2"])


def apply(journal, writes):
    for name, value in writes:
        journal.set(name, value)


@given(st.dictionaries(NAMES, st.sampled_from(["", "1", "2"])), st.lists(st.tuples(NAMES, VALUES)))
def test_whatever_was_written_is_given_back_exactly(before, writes):
    environ = dict(before)
    journal = VariableJournal(environ)
    apply(journal, writes)
    assert journal.base() == before
    assert journal.restore() == ()
    assert environ == before
    assert journal.written == {}


@given(st.dictionaries(NAMES, st.sampled_from(["", "1"])), st.lists(st.tuples(NAMES, VALUES)))
def test_the_last_value_written_is_the_one_that_stands(before, writes):
    environ = dict(before)
    apply(VariableJournal(environ), writes)
    expected = {**before, **dict(writes)}
    assert environ == {name: value for name, value in expected.items() if value is not None}


def test_a_variable_that_somebody_changed_since_is_left_and_told():
    environ = {"A": "users"}
    journal = VariableJournal(environ)
    journal.set("A", "ours")
    journal.set("B", "ours")
    environ["A"] = "theirs"
    assert journal.base() == {"A": "theirs"}
    assert journal.restore() == ("A was changed by somebody else since and is left as it is",)
    assert environ == {"A": "theirs"}


def test_some_variables_can_be_given_back_alone():
    environ = {}
    journal = VariableJournal(environ)
    apply(journal, [("A", "1"), ("B", "1")])
    journal.restore(frozenset({"A"}))
    assert environ == {"B": "1"}
    assert journal.written == {"B": "1"}


def test_what_stands_there_already_is_not_ours():
    environ = {"A": "1"}
    journal = VariableJournal(environ)
    journal.set("A", "1")
    assert journal.written == {}
