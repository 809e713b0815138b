"""Do-nothing stand-ins for the CUDA libraries that the installed frameworks link or open.

No list of libraries is kept here: what a framework's own files say they need (DT_NEEDED) is made, and each
function is one that a framework leaves undefined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpumem_simgpu.cache import cached, digest
from gpumem_simgpu.device import LIBRARIES, device_folder
from gpumem_simgpu.target import Target
from gpumem_simgpu.tools import require_tools, tool_output

_VENDOR = re.compile(r"lib(cu|nv|nccl)\w*\.so[.\d]*")
# The names of a library's functions begin with its own name, but for these.
_PREFIXES = {"nvshmem_host": "nvshmem", "nvrtc-builtins": "nvrtc"}
# TensorFlow opens these by name. The numbers are those of the CUDA release that it was built with.
_OPENED = {
    12: ("cublas.so.12", "cublasLt.so.12", "cufft.so.11", "cusolver.so.11", "cusparse.so.12", "cupti.so.12"),
    13: ("cublas.so.13", "cublasLt.so.13", "cufft.so.12", "cusolver.so.12", "cusparse.so.12", "cupti.so.13"),
}
_FOLDERS = {"torch": "torch/lib", "cupy-cuda12x": ".", "cupy-cuda13x": "."}
_PATTERNS = {"torch": ("*.so",), "cupy-cuda12x": ("cupy*/**/*.so",), "cupy-cuda13x": ("cupy*/**/*.so",)}


@dataclass(frozen=True)
class _Symbol:
    name: str
    version: str


@dataclass(frozen=True)
class _Consumer:
    """A framework's file: the vendor libraries it links, and what it leaves undefined."""

    needs: tuple[str, ...]
    undefined: tuple[_Symbol, ...]


@cache
def standin_folder(target: Target) -> Path | None:
    """Return the folder of stand-ins for the frameworks of this interpreter; None when it has none."""
    frameworks = [one for one in target.installed if one.name == "tensorflow" or one.name in _FOLDERS]
    if not frameworks:
        return None
    key = digest([Path(__file__).read_bytes(), *(f"{one.name}=={one.version}" for one in frameworks)])
    return cached(f"standins-{key}", lambda folder: _build(folder, target))


def _build(folder: Path, target: Target) -> None:
    require_tools("gcc", "nm", "readelf")
    consumers = [_read(path) for path in _files(target)]
    wanted: dict[str, set[str]] = {name: set() for one in consumers for name in one.needs}
    wanted.update({name: set() for name in _opened_by_tensorflow(target) if name not in wanted})
    versions: dict[str, str] = {}
    for consumer in consumers:
        for symbol in consumer.undefined:
            library = _library_of(symbol, consumer, wanted)
            if library is not None:
                wanted[library].add(symbol.name)
                if symbol.version:
                    versions[library] = symbol.version
    for library, functions in sorted(wanted.items()):
        _build_one(folder, library, functions, versions.get(library))


def _files(target: Target) -> list[Path]:
    found: list[Path] = []
    for name, below in _FOLDERS.items():
        installed = target.find(name)
        if installed is not None:
            for pattern in _PATTERNS[name]:
                found += sorted((installed.folder / below).glob(pattern))
    return found


def _read(path: Path) -> _Consumer:
    dynamic = tool_output(["readelf", "-d", path], doing=f"Reading {path.name}")
    needs = tuple(n for n in re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic) if _is_vendor(n, path))
    if not needs:
        return _Consumer((), ())
    listed = tool_output(["nm", "-D", "--undefined-only", path], doing=f"Reading {path.name}")
    words = [line.split()[-1] for line in listed.splitlines() if line.strip()]
    parts = [word.replace("@@", "@").partition("@") for word in words]
    return _Consumer(needs, tuple(_Symbol(name, version) for name, _, version in parts))


def _is_vendor(name: str, consumer: Path) -> bool:
    """Say whether a needed library is the vendor's and neither simulated nor brought along."""
    if not _VENDOR.fullmatch(name) or name in LIBRARIES or name.startswith(("libcurl", "libcudart")):
        return False
    return not (consumer.parent / name).exists()


def _library_of(symbol: _Symbol, consumer: _Consumer, wanted: Iterable[str]) -> str | None:
    """Return the library that a symbol comes from: by its version, else by its name."""
    if symbol.version:
        # A symbol version is the soname, except where the vendor leaves the folder's release out of it.
        return next((name for name in wanted if symbol.version in (name, f"{name}.0")), None)
    fitting = [name for name in consumer.needs if symbol.name.lower().startswith(_prefix(name).lower())]
    # "cublasLtCreate" begins with both "cublas" and "cublasLt": the longer name is meant.
    return max(fitting, key=lambda name: len(_prefix(name)), default=None)


def _prefix(library: str) -> str:
    stem = library.removeprefix("lib").partition(".so")[0]
    return _PREFIXES.get(stem, stem)


def _opened_by_tensorflow(target: Target) -> Sequence[str]:
    installed = target.find("tensorflow")
    if installed is None:
        return ()
    text = (installed.folder / "tensorflow/python/platform/build_info.py").read_text()
    cuda = re.search(r"'cuda_version', '(\d+)", text)
    cudnn = re.search(r"'cudnn_version', '(\d+)", text)
    if cuda is None:
        return ()  # a build for the processor alone
    names = [f"lib{name}" for name in _OPENED.get(int(cuda.group(1)), ())]
    return [*names, f"libcudnn.so.{cudnn.group(1)}"] if cudnn else names


def _build_one(folder: Path, library: str, functions: Iterable[str], version: str | None) -> None:
    lines = ["int sim_stub(const char *, int);\n"]
    lines += [f'int {name}(void) {{ return sim_stub("{name}", 0); }}\n' for name in sorted(functions)]
    options = []
    if version is not None:
        script = folder / f"{library}.map"
        script.write_text(f"{version} {{ global: *; }};\n")
        options.append(f"-Wl,--version-script={script}")
    options += ["-O1", "-w", f"-Wl,-soname,{library}", "-o", str(folder / library)]
    inputs = ["-x", "c", "-", "-x", "none", str(device_folder() / "libcuda.so.1")]
    argv = ["gcc", "-shared", "-fPIC", *options, *inputs]
    tool_output(argv, doing=f"Building {library}", stdin="".join(lines))
