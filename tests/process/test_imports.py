"""The order of imports does not matter as long as the framework has not started, and no trace is left on a module."""

import pytest

GIB = 1 << 30


@pytest.mark.parametrize(
    ("when", "how"), [("before", "import"), ("before", "from"), ("before", "importlib"), ("after", "import")]
)
def test_the_policy_holds_whether_it_came_before_or_after_the_import(run, when, how):
    result = run("import_order.py", when, how).json()
    assert result == {
        "limit": 8 * GIB,
        "devices": {"1": 2 * GIB},
        "error": None,
        "loader": "SourceFileLoader",
        "same_loader": True,
        "ok": True,
        "left": ["numbat has started with NUMBAT_LIMIT and keeps it until the process ends"],
        "finders": [],
    }


def test_after_the_start_it_is_too_late(run):
    result = run("import_order.py", "late", "import").json()
    assert (result["limit"], result["devices"]) == (0, {})
    assert "the framework has started" in result["error"]


def test_the_module_that_imported_the_framework_is_named(run, tmp_path):
    (tmp_path / "my_model.py").write_text('"""A model."""\n\nimport numbat\n')
    done = run("first_importer.py")
    assert "numbat: it was first imported by first_importer.py:12 -> my_model.py:3 (inferred)" in done.stdout, done


def test_a_failed_import_is_watched_again_and_a_reload_is_left_alone(run):
    assert run("reload_and_fail.py").json() == {"failures": ["broken"] * 2, "first": [2 * GIB], "reloaded": []}


def test_a_module_that_replaces_itself_is_the_one_that_is_limited(run):
    assert run("replaced_module.py").json() == {"1": 2 * GIB}


def test_a_module_that_another_thread_is_importing_is_waited_for(run):
    assert run("still_initialising.py").json() == {"during": ["pending", "pending"], "devices": [[1, 2 * GIB]]}


def test_thirty_two_threads_apply_once(run):
    result = run("many_threads.py").json()
    assert result == {
        "calls": ["numbat.set_device_limit(0, 1073741824)", "numbat.set_device_limit(1, 2147483648)"],
        "errors": [],
    }


def test_importing_gpumem_reads_nothing_and_changes_nothing(run):
    result = run("import_is_free.py").json()
    assert not {"pluggy", "dataclasses", "tomllib", "pynvml"} & set(result["loaded"])
    assert (result["toml"], result["same"], result["threads"], result["public"]) == ([], True, 1, [])
