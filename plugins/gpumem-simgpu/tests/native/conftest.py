"""Building the C programs of this folder, running their cases, and judging the logs that they leave."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gpumem_simgpu.device import SHIM, build_device, device_folder
from gpumem_simgpu.headers import find_headers

HERE = Path(__file__).parent
_CASE = re.compile(r'^CASE\((\w+), "([^"]*)"\)', re.MULTILINE)
_FLAGS = ("-O1", "-g", "-std=gnu17", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-deprecated-declarations")
# Of the test that runs, and of whoever runs the tests: a program sees only what its machine says.
_NOT_FOR_PROGRAMS = re.compile(r"SIMGPU_|CUDA_|LD_PRELOAD$|LD_LIBRARY_PATH$|ASAN_|TSAN_|UBSAN_|LSAN_")
_SECONDS = 300
# What the fault `other=` invents.
OTHER, OTHER_PID = "other process", 4194303


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers of these tests."""
    config.addinivalue_line("markers", "sanitizers: builds the device anew or runs it under valgrind; once is enough")
    config.addinivalue_line("markers", "programs(wanted): only the programs whose source is wanted")


@dataclass(frozen=True)
class Case:
    """A case of a C program and the machine that it wants; ``major`` is that of the headers it is built with."""

    program: str
    name: str
    machine: str
    major: int = 12

    def __str__(self) -> str:
        suffix = f"{self.major}" if self.program.startswith("runtime") else ""
        return f"{self.program}{suffix}-{self.name}"

    def variables(self, folder: Path) -> dict[str, str]:
        """Return the variables of the machine; what it shares and writes lies in ``folder``."""
        found = dict(word.split("=", 1) for word in self.machine.split())
        named = {name if name.startswith("CUDA_") else f"SIMGPU_{name}": value for name, value in found.items()}
        if "SIMGPU_STATE" in named:
            named["SIMGPU_STATE"] = str(folder / "state")
        return {**named, "SIMGPU_LOG": str(folder / "log")}


def read_cases() -> tuple[Case, ...]:
    """Return every case of every program, as the sources declare them."""
    found = []
    for source in sorted(HERE.glob("*.c")):
        cases = _CASE.findall(source.read_text())
        assert cases, f"{source.name} has no cases"
        for major in (12, 13) if source.stem.startswith("runtime") else (12,):
            found += [Case(source.stem, name, machine, major) for name, machine in cases]
    return tuple(found)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test every ``case``, or all ``cases`` of each program, perhaps only of some programs."""
    found = read_cases()
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", [pytest.param(case, id=str(case)) for case in found])
    if "cases" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("programs")
        programs: dict[str, list[Case]] = {}
        for case in found:
            if marker is None or marker.kwargs["wanted"](HERE / f"{case.program}.c"):
                programs.setdefault(f"{case.program}{case.major}", []).append(case)
        metafunc.parametrize("cases", [pytest.param(all_, id=name) for name, all_ in programs.items()])


@dataclass(frozen=True)
class Done:
    """A program that has ended, and the log of the devices it used."""

    returncode: int
    stdout: str
    stderr: str
    events: tuple[Mapping[str, Any], ...]


@dataclass
class Builds:
    """The libraries and programs of one way to build them; each program is built when it is first needed."""

    folder: Path
    libraries: Path
    flags: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    wrapper: tuple[str, ...] = ()

    def program(self, case: Case) -> Path:
        """Return the built program of a case."""
        target = self.folder / f"{case.program}{case.major}"
        if not target.exists():
            includes = [f"-I{find_headers(case.major).include}"]
            libraries = [self.libraries / name for name in ("libcuda.so.1", "libnvidia-ml.so.1")]
            if case.program == "loading":
                libraries = []
            if case.program.startswith("runtime"):
                includes.append(f"-I{SHIM}")
                libraries.append(self.libraries / f"libcudart.so.{case.major}")
            argv = ["gcc", *_FLAGS, *self.flags, *includes, HERE / f"{case.program}.c", "-o", target, *libraries]
            built = subprocess.run(
                [str(word) for word in (*argv, f"-Wl,--disable-new-dtags,-rpath,{self.libraries}", "-lpthread")],
                capture_output=True,
                text=True,
                check=False,
            )
            assert built.returncode == 0, built.stderr
            assert not built.stderr, built.stderr
        return target

    def run(self, case: Case, folder: Path, **environment: str) -> Done:
        """Run a case in a process of its own."""
        done = self._run([self.program(case), case.name], folder, {**case.variables(folder), **environment})
        return Done(done.returncode, done.stdout, done.stderr, read_log(folder / "log"))

    def run_all(self, cases: Sequence[Case], folder: Path) -> subprocess.CompletedProcess[str]:
        """Run cases of one program in forked children of one process, which leave ``log.CASE`` each."""
        return self._run([self.program(cases[0]), *(case.name for case in cases)], folder, {})

    def _run(
        self, argv: Sequence[str | Path], folder: Path, variables: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.wrapper, *map(str, argv)],
            env={**clean_environment(), **self.environment, **variables},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )


def clean_environment() -> dict[str, str]:
    """Return this process's environment without what belongs to a simulated or a sanitized program."""
    return {name: value for name, value in os.environ.items() if not _NOT_FOR_PROGRAMS.match(name)}


def read_log(path: Path) -> tuple[Mapping[str, Any], ...]:
    """Return the lines of a log; one that is no JSON object by itself is an error."""
    return tuple(json.loads(line) for line in path.read_text().splitlines()) if path.exists() else ()


def _build(folder: Path, flags: Sequence[str]) -> Path:
    libraries = folder / "libraries"
    build_device(libraries, flags=tuple(flags))
    return libraries


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """The libraries as everybody uses them."""
    return Builds(tmp_path_factory.mktemp("native"), device_folder())


@pytest.fixture(scope="session")
def address_builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """Everything with AddressSanitizer and UndefinedBehaviorSanitizer; the first finding ends the program."""
    folder = tmp_path_factory.mktemp("native-address")
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
    options = {"ASAN_OPTIONS": "exitcode=99:detect_stack_use_after_return=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    return Builds(folder, _build(folder, flags), flags, options)


@pytest.fixture(scope="session")
def thread_builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """Everything with ThreadSanitizer."""
    folder = tmp_path_factory.mktemp("native-thread")
    flags = ("-fsanitize=thread",)
    return Builds(folder, _build(folder, flags), flags, {"TSAN_OPTIONS": "exitcode=99:halt_on_error=1"})


@pytest.fixture(scope="session")
def valgrind_builds(builds: Builds) -> Builds:
    """The usual builds, run by valgrind."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    kinds = ("--show-leak-kinds=definite", "--errors-for-leak-kinds=definite")
    wrapper = ("valgrind", "-q", "--error-exitcode=99", "--leak-check=full", *kinds)
    return Builds(builds.folder, builds.libraries, wrapper=wrapper)


class Account:
    """A log played back, line by line: who has taken how much of which device."""

    def __init__(self, totals: Mapping[int, int] | None = None, *, one_thread: bool = False) -> None:
        """Remember what is there, by bus number, and whether lines of one process come in the order of its calls."""
        self.totals = totals or {}
        self.one_thread = one_thread
        self.taken: dict[tuple[int, int], int] = {}
        self.blocks: dict[int, set[int]] = {}
        self.ended: set[int] = set()

    def play(self, events: Sequence[Mapping[str, Any]]) -> Account:
        """Assert that every block is granted once and freed once, and that no device holds more than there is."""
        for number, event in enumerate(events, start=1):
            self._play(event, f"line {number}: {event}")
        return self

    def of(self, bus: int) -> int:
        """Return the bytes of a device that are taken."""
        return sum(value for (_, where), value in self.taken.items() if where == bus)

    def _play(self, event: Mapping[str, Any], where: str) -> None:
        if event["api"] == "process ended":
            self._gone(event["gone"])
            self.ended |= {event["gone"]} - {OTHER_PID}
            return
        if event["api"] == "process started":
            # The number is used again, or the program replaced another.
            self._gone(event["pid"])
            self.ended.discard(event["pid"])
            return
        # Memory of the host has no device.
        if event["rc"] or "phys" not in event or not {"charged", "freed"} & event.keys():
            return
        pid, bus = event["pid"] if event["api"] != OTHER else OTHER_PID, event["phys"]
        if event["api"] == "context":
            # The line before said that the program which this one replaced had ended.
            self.ended.discard(pid)
        if pid in self.ended:
            # Threads may still run while a process ends, which has given back all: their lines say nothing new.
            assert 0 <= event["used"] <= self.totals.get(bus, event["used"]), where
            return
        change = event.get("charged", 0) - event.get("freed", 0)
        if "charged" in event:
            assert event["id"] not in self.blocks.setdefault(pid, set()), where
            self.blocks[pid].add(event["id"])
        elif "id" in event:
            assert event["id"] in self.blocks.get(pid, set()), where
            self.blocks[pid].remove(event["id"])
        self.taken[pid, bus] = self.taken.get((pid, bus), 0) + change
        assert self.taken[pid, bus] >= 0, where
        if bus in self.totals:
            assert self.of(bus) <= self.totals[bus], where
        if self.one_thread:
            assert event["used"] == self.taken[pid, bus], where

    def _gone(self, pid: int) -> None:
        self.blocks.pop(pid, None)
        self.taken = {key: value for key, value in self.taken.items() if key[0] != pid}


@pytest.fixture
def find_case() -> Callable[[str], Case]:
    """Find a case by its name, as ``faults-several``."""
    return {str(case): case for case in read_cases()}.__getitem__


@pytest.fixture
def account() -> type[Account]:
    """The class that plays logs back; a fixture, since this file cannot be imported."""
    return Account
