"""Building the device: libcuda, the runtime for CUDA 12 and for CUDA 13, and NVML."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpumem_simgpu.cache import cached, digest
from gpumem_simgpu.headers import Headers, find_headers
from gpumem_simgpu.stubs import driver_source, runtime_source
from gpumem_simgpu.tools import require_tools, tool_output

NATIVE = Path(__file__).parent / "native"
SHIM = NATIVE / "shim"
LIBRARIES = ("libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1")
# The parameters of a public call are given, whether they matter here or not; some calls are deprecated.
_WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-deprecated-declarations")
_COMPILE = ("gcc", "-std=gnu11", "-O1", "-g", "-fPIC", "-fvisibility=hidden", *_WARNINGS)


@cache
def device_folder() -> Path:
    """Return the folder with the four libraries, built if this version of them is not in the cache yet."""
    headers = (find_headers(12), find_headers(13))
    sources = sorted(path for path in NATIVE.rglob("*") if path.suffix in {".c", ".h"})
    code = [Path(__file__), Path(__file__).with_name("stubs.py"), *sources]
    key = digest([*(path.read_bytes() for path in code), *(found.release for found in headers)])
    return cached(f"device-{key}", build_device)


def build_device(folder: Path, flags: Sequence[str] = ()) -> None:
    """Build the four libraries into a folder, with extra flags for the compiler and for the linker.

    Programs use the one build of ``device_folder``; tests make others, with ``-fsanitize=...``.
    """
    require_tools("gcc", "nm")
    headers = (find_headers(12), find_headers(13))
    work = folder / "objects"
    work.mkdir(parents=True)
    # Processes of the compiler do the work, so threads are enough to have one for each processor.
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        build = _Build(folder, work, tuple(flags), pool)
        driver = build.compile("driver", headers[-1].include)
        runtimes = [build.compile("runtime", found.include, SHIM, major=found.major) for found in headers]
        machine, nvml = build.compile("machine"), build.compile("nvml")
        stubs = build.write("driver_stubs.c", driver_source(driver, headers))
        # libgcc_s brings the unwinder that caller.c walks the stack with.
        build.link("libcuda.so.1", [*machine, *driver, *stubs], "-lpthread", "-ldl", "-lgcc_s")
        for found, objects in zip(headers, runtimes, strict=True):
            _link_runtime(build, found, objects)
        build.link("libnvidia-ml.so.1", [*nvml, folder / "libcuda.so.1"])


def _link_runtime(build: _Build, headers: Headers, objects: list[Path]) -> None:
    name = f"libcudart.so.{headers.major}"
    stubs = build.write(f"runtime_stubs{headers.major}.c", runtime_source(objects, headers))
    # PyTorch asks for symbols of exactly this version.
    versions = build.work / f"runtime{headers.major}.map"
    versions.write_text(f"{name} {{ global: cuda*; __cuda*; local: *; }};\n")
    script = f"-Wl,--version-script={versions}"
    build.link(name, [*objects, *stubs, build.folder / "libcuda.so.1"], script)


@dataclass(frozen=True)
class _Build:
    folder: Path
    work: Path
    flags: tuple[str, ...]
    pool: ThreadPoolExecutor

    def compile(self, part: str, *includes: Path, major: int | str = "") -> list[Path]:
        """Compile the files of one folder of the sources, as many at a time as there are processors."""
        folders = [f"-I{path}" for path in (NATIVE / "machine", NATIVE / part, *includes)]
        sources = sorted((NATIVE / part).glob("*.c"))
        targets = [self.work / f"{part}{major}-{source.stem}.o" for source in sources]
        list(self.pool.map(self._compile, sources, targets, [folders] * len(sources)))
        return targets

    def write(self, name: str, text: str) -> list[Path]:
        """Write a source file and compile it."""
        source = self.work / name
        source.write_text(text)
        self._compile(source, source.with_suffix(".o"), [])
        return [source.with_suffix(".o")]

    def _compile(self, source: Path, target: Path, folders: list[str]) -> None:
        command: list[str | Path] = [*_COMPILE, *self.flags, *folders, "-c", source, "-o", target]
        tool_output(command, doing=f"Compiling {source.name}")

    def link(self, name: str, inputs: list[Path], *options: str) -> None:
        # $ORIGIN lets a program that was not started with our variables load one of the four by its path.
        # Once loaded they stay: a program that closes them would lose what they map and remember.
        soname = ("-shared", f"-Wl,-soname,{name}", "-Wl,-rpath,$ORIGIN", "-Wl,-z,nodelete")
        command: list[str | Path] = ["gcc", *soname, "-o", self.folder / name, *inputs, *self.flags, *options]
        tool_output(command, doing=f"Linking {name}")
