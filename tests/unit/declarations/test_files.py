"""The configuration file: the nearest one with our table, read as it is, or left out with the reason."""

import pytest

from gpumem_core.declarations import find_file
from gpumem_core.declarations.files import read_files
from gpumem_core.sizes import Size

GIB = 1 << 30
CAP = '[tool.gpumem]\ncap = "1GiB"\n'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Search from a repository of its own."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(find_file, "script_folder", lambda: None)
    return tmp_path


def read(**environ):
    found = read_files(environ)
    return {item.key: item.value for item in found.declarations}, found


def declared(**environ):
    table, found = read(**environ)
    assert not found.faults, found.faults
    assert not found.warnings, found.warnings
    return table


def test_the_table_is_read_with_hyphens_and_its_origin(here):
    (here / "pyproject.toml").write_text("[tool.gpumem]\nprocesses-per-device = 2\nfrction = 1\n")
    _table, found = read()
    assert "did you mean fraction?" in str(found.faults[0])
    assert f"{here}/pyproject.toml: tool.gpumem.frction" in str(found.faults[0])
    (item,) = found.declarations
    assert str(item.origin) == f"{here}/pyproject.toml: tool.gpumem.processes-per-device"


def test_the_nearest_file_with_the_table_wins_and_a_file_without_it_is_passed_by(here, monkeypatch):
    (here / "pyproject.toml").write_text(CAP)
    deep = here / "pkg" / "deep"
    deep.mkdir(parents=True)
    (here / "pkg" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    monkeypatch.chdir(deep)
    assert declared() == {"cap": Size(bytes=GIB)}
    (here / "pkg" / "pyproject.toml").write_text('[tool.gpumem]\ncap = "2GiB"\n')
    assert declared() == {"cap": Size(bytes=2 * GIB)}


def test_an_empty_table_opts_out_and_says_so(here, monkeypatch):
    (here / "pyproject.toml").write_text(CAP)
    inner = here / "pkg"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[tool.gpumem]\n")
    monkeypatch.chdir(inner)
    table, found = read()
    assert table == {}
    assert "opted out" in found.notes[0]


@pytest.mark.parametrize("mark", [".git", ".hg", ".svn", ".jj"])
def test_the_search_ends_at_the_top_of_a_repository(here, monkeypatch, mark):
    (here / "pyproject.toml").write_text(CAP)
    inner = here / "checkout"
    (inner / mark).mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert declared() == {}
    (inner / "pyproject.toml").write_text(CAP)
    assert declared() == {"cap": Size(bytes=GIB)}


def test_a_file_of_our_own_name_has_no_table_name_and_comes_first(here):
    (here / "pyproject.toml").write_text(CAP)
    (here / "gpumem.toml").write_text('cap = "3GiB"\n')
    assert declared() == {"cap": Size(bytes=3 * GIB)}


def test_a_file_of_our_own_name_may_hold_the_long_table_too(here):
    (here / "gpumem.toml").write_text(CAP)
    assert declared() == {"cap": Size(bytes=GIB)}


def test_a_byte_order_mark_is_no_fault(here):
    (here / "pyproject.toml").write_bytes(b"\xef\xbb\xbf" + CAP.encode())
    assert declared() == {"cap": Size(bytes=GIB)}


def test_windows_line_ends_are_no_fault(here):
    (here / "pyproject.toml").write_bytes(CAP.replace("\n", "\r\n").encode())
    assert declared() == {"cap": Size(bytes=GIB)}


BROKEN = [
    pytest.param(CAP.encode("utf-16"), "UTF-16", id="UTF-16"),
    pytest.param(CAP.encode("utf-16-be"), "not valid TOML", id="UTF-16 without a mark"),
    pytest.param(b"\xfe\xff" + CAP.encode("utf-16-be"), "UTF-16", id="big-endian"),
    pytest.param('x = "caf\xe9"\n'.encode("cp1252"), "not UTF-8", id="a code page"),
    pytest.param(b"<<<<<<< HEAD\n" + CAP.encode(), "unfinished merge", id="a merge"),
    pytest.param(CAP.encode() + b"<<<<<<< HEAD\n", "unfinished merge", id="a merge further down"),
    pytest.param(CAP.encode() + b'cap = "2GiB"\n', "not valid TOML", id="a key twice"),
    pytest.param(b"[tool]\ngpumem = 1\n", "not a table", id="no table"),
    pytest.param(b"x = " + b"[" * 3000, "not valid TOML", id="nested too deeply"),
]


@pytest.mark.parametrize(("raw", "said"), BROKEN)
def test_a_broken_file_that_was_only_found_is_left_out_with_a_warning(here, raw, said):
    (here / "pyproject.toml").write_bytes(raw)
    table, found = read()
    assert table == {}
    assert not found.faults
    ((code, text),) = found.warnings
    assert code == "GM103"
    assert said in text
    assert str(here / "pyproject.toml") in text


@pytest.mark.parametrize(("raw", "said"), BROKEN)
def test_a_broken_file_that_was_named_is_an_error(here, raw, said):
    (here / "my.toml").write_bytes(raw)
    _table, found = read(GPUMEM_CONFIG=str(here / "my.toml"))
    assert said in str(found.faults[0])
    assert not found.warnings


def test_a_broken_file_ends_the_search_because_it_may_have_opted_out(here, monkeypatch):
    (here / "pyproject.toml").write_text(CAP)
    inner = here / "pkg"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("= broken")
    monkeypatch.chdir(inner)
    table, _found = read()
    assert table == {}


def test_a_folder_of_that_name_is_no_file(here, monkeypatch):
    (here / "pyproject.toml").write_text(CAP)
    inner = here / "pkg"
    (inner / "pyproject.toml").mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert declared() == {"cap": Size(bytes=GIB)}


def test_a_named_file_must_exist_and_have_the_table(here):
    _table, found = read(GPUMEM_CONFIG="missing.toml")
    assert "cannot be read" in str(found.faults[0])
    (here / "pyproject.toml").write_text("[project]\n")
    _table, found = read(GPUMEM_CONFIG="pyproject.toml")
    assert "has no table [tool.gpumem]" in str(found.faults[0])
    _table, found = read(GPUMEM_CONFIG=str(here))
    assert "cannot be read" in str(found.faults[0])


def test_a_named_file_replaces_the_search(here):
    (here / "pyproject.toml").write_text(CAP)
    (here / "other.toml").write_text('cap = "5GiB"\n')
    assert declared(GPUMEM_CONFIG="other.toml") == {"cap": Size(bytes=5 * GIB)}


def test_a_link_that_leads_nowhere_is_no_file(here):
    (here / "pyproject.toml").symlink_to(here / "nowhere")
    assert declared() == {}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[tools.gpumem]\ncap = "1GiB"\n', "tools.gpumem"),
        ('[tool.gpu-mem]\ncap = "1GiB"\n', "tool.gpu-mem"),
        ('[tool.gpumen]\ncap = "1GiB"\n', "tool.gpumen"),
        ('[tool.GPUMEM]\ncap = "1GiB"\n', "tool.GPUMEM"),
        ('[tool.gpumem-core]\ncap = "1GiB"\n', "tool.gpumem-core"),
        ('[gpumem]\ncap = "1GiB"\n', "gpumem"),
    ],
)
def test_a_table_with_nearly_our_name_is_told(here, text, name):
    (here / "pyproject.toml").write_text(text)
    table, found = read()
    assert table == {}
    ((code, said),) = found.warnings
    assert code == "GM107"
    assert f"[{name}]" in said
    assert "[tool.gpumem]" in said


OTHER_TOOLS = "black ruff mypy pytest poetry hatch pdm uv setuptools coverage pixi gpustat memray numpydoc mem gpu bump"


@pytest.mark.parametrize("name", OTHER_TOOLS.split())
def test_the_tables_of_other_tools_are_nobodys_slip(here, name):
    (here / "pyproject.toml").write_text(f"[tool.{name}]\nx = 1\n")
    assert declared() == {}


def test_a_folder_that_cannot_be_listed_ends_the_search(here, monkeypatch):
    monkeypatch.setattr(find_file, "working_directory", lambda: here / "gone")
    assert declared() == {}
