"""The examples run, and what they claim holds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gpumem_simgpu import SimulatedGpus

pytestmark = pytest.mark.simulated
FRAMEWORKS = ("jax", "tensorflow", "torch", "cupy")


def run(argv: list[str | Path], cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a program; its output is text."""
    return subprocess.run(
        argv, cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True, timeout=300, check=False
    )


def test_four_frameworks_share_one_policy(root: Path) -> None:
    """The example of the README ends with 0, and its table has every framework with what was refused."""
    done = run([sys.executable, root / "examples" / "four_frameworks.py"], root)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in FRAMEWORKS:
        assert f"\n{name}\n" in done.stdout
    assert done.stdout.count("refused (") == len(FRAMEWORKS)
    assert done.stdout.endswith("every promise was kept\n")


def test_the_example_fails_where_a_promise_is_broken(root: Path) -> None:
    """A policy from outside that allows more makes the example end with 1 and name what is broken."""
    done = run([sys.executable, root / "examples" / "four_frameworks.py"], root, GPUMEM_CAP="4GiB")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout


def test_a_test_suite_runs_under_a_policy(root: Path, tmp_path: Path) -> None:
    """The example for pytest passes on a simulated GPU."""
    shutil.copytree(root / "examples" / "pytest_conftest", tmp_path / "suite")
    result = SimulatedGpus("1x16GiB").run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=tmp_path / "suite"
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "2 passed" in result.stdout


def test_an_application_with_a_library_that_suggests(root: Path) -> None:
    """The library's suggestion fills what the application leaves open."""
    folder = root / "examples" / "library"
    done = run([sys.executable, folder / "application.py"], folder, GPUMEM_ASSUME_DEVICES="2x16GiB")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "cap = 4GiB, from application.py:5",
        "preallocate = False, from gpumem.prefer() in meteorology",
        "sunny",
    ]


def test_the_example_plugin_keeps_every_promise(root: Path, tmp_path: Path) -> None:
    """The plugin for the invented framework passes the compliance kit and its own tests, as any third party's would."""
    example = root / "examples" / "gpumem-example"
    site = installed(example, tmp_path / "site")
    done = run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        example,
        PYTHONPATH=os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
    )
    assert done.returncode == 0, done.stdout + done.stderr


def installed(example: Path, site: Path) -> Path:
    """Lay out a folder as an installation of the example would, without changing this environment."""
    project = tomllib.loads((example / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copytree(example / "src" / "gpumem_numbat", site / "gpumem_numbat")
    shutil.copytree(example / "numbat", site / "numbat")
    info = site / f"gpumem_numbat-{project['version']}.dist-info"
    info.mkdir()
    metadata = [f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}"]
    metadata += [f"Requires-Dist: {item}" for item in project["dependencies"]]
    (info / "METADATA").write_text("\n".join(metadata) + "\n", encoding="utf-8")
    points = project["entry-points"]["gpumem"]
    lines = "\n".join(f"{name} = {value}" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[gpumem]\n{lines}\n", encoding="utf-8")
    return site
