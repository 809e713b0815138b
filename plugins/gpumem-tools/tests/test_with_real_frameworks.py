"""The commands with the frameworks that are installed, on simulated devices."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpumem_tools.frameworks import find_frameworks

pytestmark = pytest.mark.simulated
MIB, GIB = 1 << 20, 1 << 30


def run(*words: str, cwd: Path) -> tuple[int, Any, str]:
    """Run a command with ``--json -``; return its exit code, the JSON and what it said on stderr."""
    (cwd / ".git").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gpumem", *words, "--json", "-"],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def test_the_demo_shows_the_problem_and_the_cure(tmp_path: Path) -> None:
    """Without a policy somebody starves; with one all get what they want, and the exit code is 0."""
    code, data, said = run("demo", "--html", "demo.html", cwd=tmp_path)
    assert (code, data["broken"]) == (0, []), said
    names = {framework.name for framework in find_frameworks({}).tryable}
    assert set(data["frameworks"]) == names
    problem = [scene for scene in data["scenes"] if scene["policy"] is None]
    cure = [scene for scene in data["scenes"] if scene["policy"] is not None]
    assert any(part["granted"] < part["wanted"] for scene in problem for part in scene["parts"])
    assert all(part["granted"] == part["wanted"] for scene in cure for part in scene["parts"])
    assert {part["framework"] for part in cure[0]["parts"]} == names
    assert (tmp_path / "demo.html").read_text().count('role="img"') == len(data["scenes"])


def test_a_cap_with_growth_is_proved_for_every_framework(tmp_path: Path) -> None:
    """Each reaches nearly its cap, is refused there, and never holds more."""
    code, data, said = run("prove", "--simulated", "--cap", "1GiB", "--growth", "true", cwd=tmp_path)
    assert code == 0, (data, said)
    assert [one["verdict"] for one in data["findings"]] == ["holds"] * len(find_frameworks({}).tryable)
    for one in data["findings"]:
        assert GIB * 7 // 8 < one["reached"] <= GIB, one
        assert one["version"], one


def test_a_cap_for_one_framework_is_proved_as_such(tmp_path: Path) -> None:
    """One framework has a cap of its own, the others have that of the policy."""
    framework, *_others = find_frameworks({}).tryable
    code, data, said = run("prove", "--cap", "1GiB", "-o", f"frameworks.{framework.name}.cap=512MiB", cwd=tmp_path)
    assert code == 0, (data, said)
    limits = {one["framework"]: one["limit"] for one in data["findings"]}
    assert limits[framework.name] == 512 * MIB
    assert {limit for name, limit in limits.items() if name != framework.name} <= {GIB}
