"""`gpumem explain`: a dry run on stdout, faults on stderr, and the documented exit codes."""

import json
import os

import pytest

from gpumem_core.cli.main import main
from gpumem_core.declarations import find_file


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Start in an empty repository without variables."""
    for name in [name for name in os.environ if name.startswith("GPUMEM_")]:
        monkeypatch.delenv(name)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(find_file, "script_folder", lambda: None)
    return tmp_path


def explain(capsys, *arguments):
    code = main(["explain", "--assume-devices", "2x16GiB", *arguments])
    return code, *capsys.readouterr()


def test_the_policy_is_shown_with_the_flags_as_its_origin(capsys):
    code, out, err = explain(capsys, "--cap", "4GiB", "-o", "devices.1.cap=2GiB", "--json")
    policy = json.loads(out)["policy"]
    assert (code, err) == (0, "")
    assert policy["cap"] == {"value": "4GiB", "origin": "command line --cap"}
    assert policy["devices.1.cap"]["value"] == "2GiB"


def test_a_flag_beats_the_variables_around_it(capsys, monkeypatch):
    monkeypatch.setenv("GPUMEM_CAP", "8GiB")
    _code, out, _err = explain(capsys, "--cap", "4GiB", "--json")
    assert json.loads(out)["policy"]["cap"]["value"] == "4GiB"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cap", "8 gigs"], "command line --cap"),
        (["--cap", ""], "empty"),
        (["-o", "cap"], "KEY=VALUE"),
        (["-o", "frameworks.no_such_framework.cap=1GiB"], "there is no plugin of this name"),
        (["--profile", "small"], "no configuration file was found"),
        (["--config", "missing.toml"], "missing.toml cannot be read"),
        (["-o", "on-lat=warn"], "did you mean on-late?"),
    ],
)
def test_a_faulty_policy_is_exit_code_2_with_the_message_on_stderr(capsys, arguments, said):
    code, out, err = explain(capsys, *arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_assumed_devices_must_be_sizes(capsys):
    assert main(["explain", "--assume-devices", "two", "--cap", "1GiB"]) == 2
    assert "declares no device" in capsys.readouterr().err


def test_a_file_and_a_profile_may_be_chosen(capsys, here):
    (here / "my.toml").write_text('cap = "4GiB"\n[profiles.small]\ncap = "1GiB"\n')
    _code, out, _err = explain(capsys, "--config", "my.toml", "--profile", "small", "--json")
    data = json.loads(out)
    assert data["policy"]["cap"]["value"] == "1GiB"
    assert "profile: small" in data["notes"]


def test_nothing_is_left_behind(capsys):
    before = dict(os.environ)
    explain(capsys, "--cap", "4GiB")
    assert dict(os.environ) == before


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 2
    assert "explain" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("gpumem ")
