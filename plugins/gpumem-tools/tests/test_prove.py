"""`gpumem prove`: the whole command with an invented framework, whose behaviour is known."""

from __future__ import annotations

import json

import pytest

MIB, GIB = 1 << 20, 1 << 30


def finding(ran):
    """Return the only finding of a run with ``--json -``."""
    (one,) = json.loads(ran.out)["findings"]
    return one


def test_a_cap_that_holds_is_exit_code_0(gpumem):
    """The line says who, what was asked, how far it came and where it was refused; the first line where that was."""
    ran = gpumem("prove", "--cap", "1GiB")
    assert ran.code == 0, ran.err
    first, *lines = ran.out.splitlines()
    assert "SIMULATED" in first
    (line,) = [line for line in lines if line.startswith("Wallaby ") and "cap=1GiB" in line]
    assert "1 GiB" in line
    assert line.rstrip().endswith("holds")
    assert ran.out.endswith("The policy holds for every framework here.\n")


def test_json_has_a_schema_and_bytes(gpumem):
    """Every amount is a whole number of bytes, and stdout holds nothing else."""
    ran = gpumem("prove", "--cap", "1GiB", "--json", "-")
    data = json.loads(ran.out)
    assert (data["schema"], data["simulated"], data["ok"]) == (1, True, True)
    one = finding(ran)
    assert (one["framework"], one["verdict"], one["limit"]) == ("wallaby", "holds", GIB)
    assert (one["reached"], one["refused"]) == (GIB, 16 * MIB)
    assert one["set"] == f"WALLABY_LIMIT={GIB}"


@pytest.mark.parametrize(
    ("mode", "verdict", "why"),
    [
        ("deaf", "does not hold", "more than its limit"),
        ("dies", "could not be tested", "it was ended by signal 11"),
        ("breaks", "could not be tested", "ValueError: the shape does not fit"),
        ("broken plugin", "could not be tested", "LookupError: the plan is lost"),
        ("unlimited", "said so before", "wallaby has no limit"),
    ],
)
def test_whatever_is_not_a_refusal_by_the_cap_is_a_finding(gpumem, mode, verdict, why):
    """A broken cap, a crash, another error and a promise that was never made are told apart; exit code 3."""
    ran = gpumem("prove", "--cap", "1GiB", "--json", "-", WALLABY_MODE=mode)
    one = finding(ran)
    assert (ran.code, one["verdict"]) == (3, verdict), ran.err
    assert why in one["why"]


def test_the_table_says_who_is_not_proved(gpumem):
    """The last line names the frameworks for which the policy is not proved."""
    ran = gpumem("prove", "--cap", "1GiB", WALLABY_MODE="unlimited")
    assert ran.code == 3
    assert "as gpumem said before" in " ".join(ran.out.split())
    assert ran.out.endswith("Not proved for Wallaby.\n")


def test_the_policy_of_the_folder_is_tested_when_no_flag_is_given(gpumem, tmp_path):
    """What configure() would find here is what is tested, and its origin is shown."""
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem]\ncap = "512MiB"\n')
    ran = gpumem("prove", "--json", "-")
    assert finding(ran)["limit"] == 512 * MIB
    assert "pyproject.toml" in json.loads(ran.out)["policy"]["cap"]["origin"]


def test_a_flag_beats_the_variables_and_the_files(gpumem, tmp_path):
    """A flag is what a person types to launch."""
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem]\ncap = "512MiB"\n')
    ran = gpumem("prove", "--cap", "1GiB", "--json", "-", GPUMEM_CAP="2GiB")
    assert finding(ran)["limit"] == GIB


def test_a_key_of_one_framework_reaches_its_process(gpumem):
    """`-o frameworks.F.cap` is as good as a flag."""
    ran = gpumem("prove", "--cap", "1GiB", "-o", "frameworks.wallaby.cap=256MiB", "--json", "-")
    assert finding(ran)["limit"] == 256 * MIB


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no policy is declared here; name one, such as gpumem prove --cap 2GiB"),
        (("--cap", "8 gigs"), "'8 gigs' is not a size"),
        (("-o", "cap"), "write KEY=VALUE"),
        (("--cap", "1GiB", "--devices", "2xt5"), '"t5" is neither a size nor a profile'),
        (("--cap", "1GiB", "--json", "no/such/folder"), "does not exist"),
    ],
)
def test_a_faulty_policy_or_flag_is_exit_code_2(gpumem, words, said):
    """Nothing is run, stdout is empty, and the message says what to write."""
    ran = gpumem("prove", *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_without_a_framework_one_sentence_says_what_to_install(gpumem):
    """That is no finding about the policy."""
    ran = gpumem("prove", "--cap", "1GiB", framework=False)
    assert (ran.code, ran.out) == (1, "")
    assert 'pip install "gpumem-core[' in ran.err
