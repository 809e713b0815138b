"""Building the device: libcuda, the runtime for CUDA 12 and for CUDA 13, and NVML."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gpumem_simgpu.cache import cached, digest
from gpumem_simgpu.headers import Headers, find_headers
from gpumem_simgpu.stubs import defined_names, driver_source, exported_functions, stub_source
from gpumem_simgpu.tools import require_tools, tool_output

NATIVE = Path(__file__).parent / "native"
SHIM = NATIVE / "shim"
LIBRARIES = ("libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1")
_SHARED = ("config", "accounting", "events", "caller", "device_node")
_DRIVER = ("devices", "blocks", "memory", "virtual", "work", "lookup")
_RUNTIME = ("cudart", "cudart_work")
_COMPILE = ("gcc", "-O1", "-g", "-fPIC", "-Wall", "-Wno-unused-parameter", "-Wno-deprecated-declarations")


@cache
def device_folder() -> Path:
    """Return the folder with the four libraries, built if this version of them is not in the cache yet."""
    headers = (find_headers(12), find_headers(13))
    sources = sorted(path for path in NATIVE.rglob("*") if path.suffix in {".c", ".h"})
    code = [Path(__file__), Path(__file__).with_name("stubs.py"), *sources]
    key = digest([*(path.read_bytes() for path in code), *(found.release for found in headers)])
    return cached(f"device-{key}", lambda folder: _build(folder, headers))


def _build(folder: Path, headers: tuple[Headers, Headers]) -> None:
    require_tools("gcc", "nm")
    work = folder / "objects"
    work.mkdir()
    newest = headers[1]
    shared = [_compile(NATIVE / f"{name}.c", work) for name in _SHARED]
    driver = [_compile(NATIVE / f"{name}.c", work, newest.include) for name in _DRIVER]
    stubs = work / "driver_stubs.c"
    stubs.write_text(driver_source(driver, headers))
    # libgcc_s brings the unwinder that caller.c walks the stack with.
    _link(folder / "libcuda.so.1", [*shared, *driver, _compile(stubs, work)], "-lpthread", "-ldl", "-lgcc_s")
    for found in headers:
        _build_runtime(folder, work, found)
    nvml = _compile(NATIVE / "nvml.c", work)
    _link(folder / "libnvidia-ml.so.1", [nvml, folder / "libcuda.so.1"])


def _build_runtime(folder: Path, work: Path, headers: Headers) -> None:
    name = f"libcudart.so.{headers.major}"
    folders = (headers.include, SHIM)
    written = [_compile(NATIVE / f"{file}.c", work, *folders, suffix=str(headers.major)) for file in _RUNTIME]
    stubs = work / f"runtime_stubs{headers.major}.c"
    stubs.write_text(stub_source(exported_functions(headers.runtime), defined_names(written)))
    # PyTorch asks for symbols of exactly this version.
    versions = work / f"runtime{headers.major}.map"
    versions.write_text(f"{name} {{ global: cuda*; __cuda*; local: *; }};\n")
    script = f"-Wl,--version-script={versions}"
    _link(folder / name, [*written, _compile(stubs, work), folder / "libcuda.so.1"], script)


def _compile(source: Path, work: Path, *includes: Path, suffix: str = "") -> Path:
    target = work / f"{source.stem}{suffix}.o"
    folders = [f"-I{path}" for path in (NATIVE, *includes)]
    tool_output([*_COMPILE, *folders, "-c", source, "-o", target], doing=f"Compiling {source.name}")
    return target


def _link(target: Path, inputs: list[Path], *options: str) -> None:
    # $ORIGIN lets a program that was not started with our variables load one of the four by its path.
    soname = ("-shared", f"-Wl,-soname,{target.name}", "-Wl,-rpath,$ORIGIN")
    tool_output(["gcc", *soname, "-o", target, *inputs, *options], doing=f"Linking {target.name}")
