"""What reaches a child of a configured process."""

GIB = 1 << 30


def test_a_forked_child_keeps_the_policy_and_may_undo_it_for_itself(run):
    result = run("children.py", "fork", PYTHONWARNINGS="default").json()
    assert result == {
        "limit": 8 * GIB,
        "devices": [[1, 2 * GIB]],
        "configured": True,
        "rows": {"cap@None": "in_force", "cap@1": "in_force"},
        "left": ["numbat has started with NUMBAT_LIMIT and keeps it until the process ends"],
        "variable": None,
        "parent": str(8 * GIB),
    }


def test_a_spawned_child_inherits_variables_and_claims_nothing(run):
    result = run("children.py", "spawn").json()
    assert (result["limit"], result["devices"], result["configured"]) == (8 * GIB, [], False)
    assert result["rows"] == {}
    assert (result["variable"], result["parent"]) == (str(8 * GIB), str(8 * GIB))
