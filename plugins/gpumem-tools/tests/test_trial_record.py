"""What a trial wrote down is read back, whatever became of its processes."""

from __future__ import annotations

import json
from pathlib import Path

from gpumem_tools.trial.record import read_record, record_of
from gpumem_tools.trial.script import GIB, MIB, Script, Turn, past_the_cap, read_script

ASKED = {"event": "asked", "process": 0, "pid": 7, "framework": "wallaby", "limit": GIB, "hidden": False, "rows": []}
GRANTED = {"event": "granted", "process": 0, "pid": 7, "framework": "wallaby", "bytes": MIB, "taken": 2 * MIB}
REFUSED = {
    "event": "refused",
    "process": 0,
    "pid": 7,
    "framework": "wallaby",
    "bytes": GIB,
    "error": "PouchFullError: no room",
    "known": True,
}
OVER = {"event": "turn over", "process": 0, "pid": 7, "framework": "wallaby", "held": MIB, "free": 5, "rows": []}


def test_a_whole_turn_is_one_entry():
    """What was asked, granted, refused and held stands together; the first block alone tells what was taken ahead."""
    (one,) = record_of([ASKED, GRANTED, {**GRANTED, "taken": 0}, REFUSED, OVER]).taken
    assert (one.limit, one.granted, one.first_taken) == (GIB, (MIB, MIB), 2 * MIB)
    assert (one.refused, one.error, one.out_of_memory) == (GIB, "PouchFullError: no room", True)
    assert (one.held, one.free, one.over) == (MIB, 5, True)


def test_a_process_that_died_is_not_over():
    """The lines that came before the death are kept."""
    (one,) = record_of([ASKED, GRANTED]).taken
    assert (one.granted, one.over) == ((MIB,), False)


def test_two_processes_are_told_apart():
    """The same framework in a second process is an entry of its own."""
    record = record_of([GRANTED, {**GRANTED, "process": 1, "pid": 8}])
    assert [(one.process, one.pid) for one in record.taken] == [(0, 7), (1, 8)]


def test_a_framework_that_never_had_its_turn_is_no_entry():
    """Every framework is asked for, and only those of the script are tried."""
    assert record_of([ASKED]).taken == ()


def test_a_refused_policy_is_kept_with_its_class():
    """That gpumem said so before the program ran is what the judge needs to know."""
    record = record_of(
        [{"event": "policy refused", "process": 0, "pid": 7, "kind": "UnsupportedPolicyError", "text": "t"}]
    )
    assert record.policy_refused == ("UnsupportedPolicyError", "t")


def test_a_trial_that_never_began_left_nothing(tmp_path: Path):
    """No file is an empty record, and a file is read line by line."""
    assert read_record(tmp_path / "none").taken == ()
    (tmp_path / "some").write_text("".join(json.dumps(event) + "\n" for event in (ASKED, GRANTED, OVER)))
    assert len(read_record(tmp_path / "some").taken) == 1


def test_a_script_survives_its_journey():
    """What a fresh interpreter reads is what was written."""
    turn = Turn("wallaby", "wallaby_plugin:allocate", (r"^Pouch",), (MIB, GIB))
    script = Script((turn,), "arguments", {"cap": "1GiB"}, Script((turn,)))
    assert read_script(script.to_json()) == script


def test_steps_reach_the_cap_exactly_and_then_pass_it():
    """The sum of the first 65 blocks is the cap, for every cap that is a round number of MiB."""
    for cap in (128 * MIB, GIB, 3 * GIB, 80 * GIB):
        blocks = past_the_cap(cap)
        assert sum(blocks[:65]) == cap
        assert sum(blocks) > cap
