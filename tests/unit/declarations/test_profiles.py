"""A profile lies on top of the table: key by key, pairs replaced, and every profile is checked."""

import pytest

from gpumem_core.declarations import find_file
from gpumem_core.declarations.files import read_files
from gpumem_core.sizes import Size


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Write a file and read it with a profile."""
    monkeypatch.setattr(find_file, "script_folder", lambda: None)

    def with_profile(text, profile="small"):
        path = tmp_path / "gpumem.toml"
        path.write_text(text)
        return read_files({"GPUMEM_CONFIG": str(path), "GPUMEM_PROFILE": profile})

    return with_profile


def keys(found):
    assert not found.faults, found.faults
    return {item.key: item.value for item in found.declarations}


def test_a_profile_overrides_key_by_key(read):
    found = read('cap = "4GiB"\ngrowth = true\n[profiles.small]\ncap = "1GiB"\n')
    assert keys(found) == {"cap": Size(bytes=1 << 30), "preallocate": False}
    origins = {item.key: str(item.origin).partition(": ")[2] for item in found.declarations}
    assert origins == {"cap": "profiles.small.cap", "preallocate": "growth"}
    assert "profile: small" in found.notes


@pytest.mark.parametrize(
    ("base", "top", "expected"),
    [
        ('cap = "4GiB"', "fraction = 0.5", {"fraction": 0.5}),
        ("fraction = 0.5", 'cap = "none"', {"cap": "none"}),
        ("growth = true", 'preallocate = "1GiB"', {"preallocate": "1GiB"}),
        ("growth = true", "growth = false", {"preallocate": "True"}),
        ('on-late = "warn"', 'on_late = "ignore"', {"on_late": "ignore"}),
        ("processes_per_device = 2", "processes-per-device = 4", {"processes_per_device": "4"}),
    ],
)
def test_what_is_one_setting_is_replaced_as_one(read, base, top, expected):
    found = keys(read(f"{base}\n[profiles.small]\n{top}\n"))
    assert {key: str(value) for key, value in found.items()} == {key: str(value) for key, value in expected.items()}


def test_nested_tables_are_merged_and_their_pairs_replaced(read):
    found = read(
        '[frameworks.numbat]\ncap = "4GiB"\nallocator = "pool"\n[frameworks.numbat.options]\na-b = 1\n'
        "[profiles.small.frameworks.numbat]\nfraction = 0.5\n[profiles.small.frameworks.numbat.options]\na_b = 2\n"
    )
    assert keys(found) == {
        "frameworks.numbat.allocator": "pool",
        "frameworks.numbat.fraction": 0.5,
        "frameworks.numbat.options.a-b": 1,
        "frameworks.numbat.options.a_b": 2,
    }


def test_hidden_replaces_the_whole_framework(read):
    found = read('[frameworks.numbat]\ncap = "4GiB"\n[profiles.small.frameworks]\nnumbat = "hidden"\n')
    assert keys(found) == {"frameworks.numbat.visible": "none"}


def test_without_a_choice_no_profile_counts(read):
    assert keys(read('cap = "4GiB"\n[profiles.small]\ncap = "1GiB"\n', profile="  ")) == {"cap": Size(bytes=4 << 30)}


def test_an_unknown_profile_is_an_error_with_the_known_ones(read):
    (fault,) = read("[profiles.small]\n[profiles.large]\n", profile="smal").faults
    assert "did you mean small?" in str(fault)
    assert "large, small" in str(fault)


def test_a_slip_in_a_profile_that_is_not_chosen_is_found_too(read):
    (fault,) = read('[profiles.small]\n[profiles.large]\ncap = "x"\n').faults
    assert "profiles.large.cap" in str(fault)


@pytest.mark.parametrize("text", ["profiles = 1\n", "[profiles]\nlarge = 1\n[profiles.small]\n"])
def test_what_is_no_table_of_profiles_is_an_error(read, text):
    assert read(text).faults


def test_a_profile_without_a_file_is_an_error(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(find_file, "script_folder", lambda: None)
    (fault,) = read_files({"GPUMEM_PROFILE": "small"}).faults
    assert "no configuration file was found" in str(fault)
