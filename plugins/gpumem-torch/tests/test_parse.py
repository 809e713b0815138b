"""The parser of PYTORCH_ALLOC_CONF reads every string as PyTorch does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumem_torch.keys import KEYS, accepts, looks_like
from gpumem_torch.parse import merge, read, tokens_of
from gpumem_torch.release import release_of

RECORDED = json.loads(Path(__file__).with_name("recorded_verdicts.json").read_text())
RELEASES = [(0, 0), (2, 5), (2, 9), (2, 14), (9, 9), None]
PIECES = st.sampled_from([*KEYS, "foo", ":", ",", "[", "]", " ", "True", "64", "0.5", "=", ";", "-1", "\t", "native"])


@pytest.mark.parametrize(("number", "version"), list(enumerate(RECORDED["releases"])))
def test_it_agrees_with_what_the_release_itself_answered(number: int, version: str) -> None:
    """Of 700 strings each release accepts exactly those that `read` calls usable for it."""
    verdicts = RECORDED["verdicts"]
    assert len(verdicts) > 700
    wrong = [
        text for text, verdict in verdicts.items() if read(text, release_of(version)).usable != (verdict[number] == "1")
    ]
    assert wrong == []


@given(st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=12).map("".join)), st.sampled_from(RELEASES))
def test_it_never_raises_and_positions_point_into_the_string(text: str, release: tuple[int, int] | None) -> None:
    """Whatever stands in the variable, the answer is entries and bad tokens, each with its place."""
    configuration = read(text, release)
    assert all(text[token.position] == token.text[0] for token in configuration.bad)
    assert all(text[entry.position] == entry.key[0] for entry in configuration.entries)
    assert all(text[token.position] == token.text[0] for token in tokens_of(text, release))


@given(st.lists(PIECES, max_size=12).map("".join))
def test_what_it_calls_usable_merges_into_something_usable(text: str) -> None:
    """Adding a key to a string that PyTorch reads gives a string that PyTorch reads, with everything else as it was."""
    before = read(text, (2, 14))
    if not before.usable:
        return
    after = read(merge(before.entries, {"expandable_segments": "True"}), (2, 14))
    assert after.usable
    assert {**before.values, "expandable_segments": "True"} == after.values


@pytest.mark.parametrize(
    ("text", "token", "position", "harm"),
    [
        ("max_split_size_mb=64", "max_split_size_mb=64", 0, "import"),
        ("expandable_segments:True,foo", "foo", 25, "import"),
        ("roundup_power2_divisions:[64:8", "[", 25, "import"),
        ("expandable_segments:true", "expandable_segments", 0, "use"),
        ("garbage_collection_threshold:0.8,foo:1", "foo", 33, "use"),
        ("max_split_size_mb:64MB", "max_split_size_mb", 0, "none"),
        (r"C:\tools\cudart64.dll", "C", 0, "use"),
    ],
)
def test_a_fault_names_the_token_its_place_and_when_it_hurts(text: str, token: str, position: int, harm: str) -> None:
    """`harm` is the worst that PyTorch 2.14 does: end the process at import, lose the GPU, or only mislead."""
    bad = read(text, (2, 14)).bad[0]
    assert (bad.text, bad.position, bad.harm) == (token, position, harm)


def test_a_string_that_ends_too_early_ends_the_process_only_since_2_10() -> None:
    """Up to 2.9 `import torch` goes well and the first use of the GPU fails."""
    assert [read("foo", release).bad[0].harm for release in [(2, 9), (2, 10)]] == ["use", "import"]


def test_a_key_newer_than_gpumem_is_no_fault_on_a_newer_pytorch() -> None:
    """`expandable_segments_reserve` came after 2.14: gpumem cannot know whether it is right."""
    text = "expandable_segments_reserve:True"
    assert [read(text, release).usable for release in [(2, 14), (2, 15)]] == [False, True]


def test_the_last_value_of_a_key_counts_but_the_first_backend() -> None:
    """As PyTorch does: the backend is fixed when the library is loaded."""
    values = read("max_split_size_mb:64,backend:native,max_split_size_mb:128,backend:cudaMallocAsync").values
    assert values == {"max_split_size_mb": "128", "backend": "native"}


def test_merging_keeps_foreign_keys_and_their_order() -> None:
    """A changed key stays where it was, doubled ones become one, new ones come last."""
    entries = read("backend:native, pinned_num_register_threads:8 ,max_split_size_mb:64,max_split_size_mb:32").entries
    changes = {"max_split_size_mb": "128", "backend": None, "expandable_segments": "True"}
    assert merge(entries, changes) == "pinned_num_register_threads:8,max_split_size_mb:128,expandable_segments:True"


def test_what_reads_as_it_looks_is_told_from_what_does_not() -> None:
    """PyTorch takes 64MB for 64 and -1 for a huge number: accepted, but not what somebody meant."""
    split = KEYS["max_split_size_mb"]
    assert all(accepts(split, text, (2, 14)) for text in ("64", "64MB", "-1"))
    assert [looks_like(split, text) for text in ("64", "64MB", "-1")] == [True, False, False]
