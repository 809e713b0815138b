"""The folder of built things: private, complete, and built once."""

from __future__ import annotations

import threading
import time
from importlib import metadata
from pathlib import Path

import pytest

from gpumem_simgpu import SimulationError
from gpumem_simgpu.cache import cache_folder, cached, digest
from gpumem_simgpu.headers import find_headers
from gpumem_simgpu.tools import require_tools


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_folder_is_for_this_user_alone(tmp_path: Path) -> None:
    prepared = tmp_path / "cache" / "gpumem-simgpu"
    prepared.mkdir(parents=True, mode=0o755)

    folder = cache_folder()

    assert folder == prepared
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "gpumem-simgpu").symlink_to(tmp_path)

    with pytest.raises(SimulationError, match="link or belongs to another user"):
        cache_folder()


def test_a_folder_of_somebody_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = cache_folder().stat().st_uid
    monkeypatch.setattr("gpumem_simgpu.cache.os.getuid", lambda: owner + 1)

    with pytest.raises(SimulationError, match="belongs to another user"):
        cache_folder()


def test_a_place_that_the_loader_cannot_name_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "two words"))

    with pytest.raises(SimulationError, match="XDG_CACHE_HOME"):
        cache_folder()


def test_two_builders_build_once() -> None:
    built = []

    def make(folder: Path) -> None:
        time.sleep(0.05)
        built.append(folder)
        (folder / "thing").write_text("whole")

    builders = [threading.Thread(target=cached, args=("thing-1", make)) for _ in range(4)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()

    assert len(built) == 1
    assert (cached("thing-1", make) / "thing").read_text() == "whole"


def test_a_failed_build_leaves_nothing() -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        message = "no"
        raise SimulationError(message)

    with pytest.raises(SimulationError):
        cached("thing-2", fail)
    assert [path.name for path in cache_folder().iterdir() if path.is_dir()] == []


def test_where_a_part_ends_matters() -> None:
    assert digest(["ab", "c"]) != digest(["a", "bc"])


def test_missing_headers_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("gpumem_simgpu.headers.metadata.distribution", nothing)

    with pytest.raises(SimulationError, match=r'pip install --no-deps "nvidia-cuda-runtime-cu12'):
        find_headers(12)


def test_a_missing_compiler_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SimulationError, match="apt-get install gcc"):
        require_tools("gcc", "nm")
