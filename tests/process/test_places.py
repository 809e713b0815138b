"""Odd places to start from: nothing fails because of a file, a folder or a home that is not there."""

from pathlib import Path

import pytest

from gpumem.testing import fresh_python


@pytest.mark.parametrize(("what", "codes"), [("deleted", []), ("unreadable", ["GM103"]), ("no entry", [])])
def test_what_cannot_be_read_is_at_most_a_warning(run, what, codes):
    assert run("odd_places.py", what).json() == {"codes": codes, "cap": "8GiB"}


def test_no_home_is_needed(run, monkeypatch):
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "USER", "LOGNAME"):
        monkeypatch.delenv(name, raising=False)
    assert run("odd_places.py", "nothing").json() == {"codes": [], "cap": "8GiB"}


def test_the_file_is_searched_from_the_folder_of_the_script(run, tmp_path):
    result = run("with_file/show_policy.py", cwd=tmp_path).json()
    assert result["policy"] == {"cap": "3GiB"}
    assert "with_file" in result["notes"][0]


def test_the_working_directory_comes_second(run, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.gpumem]\ncap = "5GiB"\n')
    assert run("with_file/show_policy.py", cwd=tmp_path).json()["policy"] == {"cap": "3GiB"}
    done = fresh_python(
        "import gpumem; print(gpumem.explain().policy['cap']['value'])",
        cwd=tmp_path,
        environ={"GPUMEM_ASSUME_DEVICES": "2x16GiB"},
    )
    assert done.stdout.strip() == "5GiB", done


def test_a_package_run_with_m_is_searched_from_its_own_folder(tmp_path):
    package = tmp_path / "project" / "pack"
    package.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("import gpumem\nprint(gpumem.explain().policy['cap']['value'])\n")
    (tmp_path / "project" / "pyproject.toml").write_text('[tool.gpumem]\ncap = "6GiB"\n')
    program = f"import runpy, sys\nsys.path.insert(0, {str(package.parent)!r})\nsys.argv = ['x']\n"
    done = fresh_python(
        program + "runpy.run_module('pack', run_name='__main__', alter_sys=True)",
        cwd=tmp_path,
        environ={"GPUMEM_ASSUME_DEVICES": "2x16GiB"},
    )
    assert done.stdout.strip() == "6GiB", done


def test_a_link_to_a_script_is_followed(tmp_path):
    link = tmp_path / "link.py"
    link.symlink_to(Path(__file__).parent / "programs" / "with_file" / "show_policy.py")
    done = fresh_python(link, cwd=tmp_path, environ={"GPUMEM_ASSUME_DEVICES": "2x16GiB"})
    assert done.json()["policy"] == {"cap": "3GiB"}


def test_the_command_line_works_as_a_module(tmp_path):
    done = fresh_python(
        "import runpy; runpy.run_module('gpumem', run_name='__main__')",
        "explain",
        "--cap=4GiB",
        cwd=tmp_path,
        environ={"GPUMEM_ASSUME_DEVICES": "2x16GiB"},
    )
    assert done.returncode == 0, done
    assert "cap=4GiB (command line --cap)" in done.stdout
