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
    """A function that a framework leaves undefined, the library it comes from, and its symbol version."""

    name: str
    library: str
    version: str


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
    wanted: dict[str, set[_Symbol]] = {name: set() for name in _opened_by_tensorflow(target)}
    for path in _files(target):
        needs = _vendor_needs(path)
        for library in needs:
            wanted.setdefault(library, set())
        for symbol in _undefined(path, needs):
            wanted[symbol.library].add(symbol)
    for library, symbols in sorted(wanted.items()):
        _build_one(folder, library, symbols)


def _files(target: Target) -> list[Path]:
    found: list[Path] = []
    for name, below in _FOLDERS.items():
        installed = target.find(name)
        if installed is not None:
            for pattern in _PATTERNS[name]:
                found += sorted((installed.folder / below).glob(pattern))
    return found


def _vendor_needs(path: Path) -> list[str]:
    dynamic = tool_output(["readelf", "-d", path], doing=f"Reading {path.name}")
    return [name for name in re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic) if _is_vendor(name, path)]


def _is_vendor(name: str, consumer: Path) -> bool:
    """Say whether a needed library is the vendor's and neither simulated nor brought along."""
    if not _VENDOR.fullmatch(name) or name in LIBRARIES or name.startswith(("libcurl", "libcudart")):
        return False
    return not (consumer.parent / name).exists()


def _undefined(path: Path, needs: Sequence[str]) -> list[_Symbol]:
    """Return what a file wants of the libraries that it needs: by symbol version, else by name."""
    if not needs:
        return []
    owners = _version_owners(path)
    found = []
    listed = tool_output(["nm", "-D", "--undefined-only", path], doing=f"Reading {path.name}")
    for line in filter(str.strip, listed.splitlines()):
        name, _, version = line.split()[-1].replace("@@", "@").partition("@")
        library = owners.get(version) if version else _by_prefix(name, needs)
        if library is not None and library in needs:
            found.append(_Symbol(name, library, version))
    return found


def _version_owners(path: Path) -> dict[str, str]:
    """Return which library each symbol version is expected in; most are named as it, some are not."""
    owners: dict[str, str] = {}
    library = ""
    text = tool_output(["readelf", "-V", "--wide", path], doing=f"Reading {path.name}")
    for kind, value in re.findall(r"\b(File|Name): (\S+)", text):
        if kind == "File":
            library = value
        elif library:
            owners[value] = library
    return owners


def _by_prefix(name: str, needs: Sequence[str]) -> str | None:
    fitting = [library for library in needs if name.lower().startswith(_prefix(library).lower())]
    # "cublasLtCreate" begins with both "cublas" and "cublasLt": the longer name is meant.
    return max(fitting, key=lambda library: len(_prefix(library)), default=None)


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


def _build_one(folder: Path, library: str, symbols: Iterable[_Symbol]) -> None:
    lines = ["int sim_stub(const char *, int);\n"]
    versions: dict[str, list[str]] = {}
    for name, version in sorted({(symbol.name, symbol.version) for symbol in symbols}):
        lines.append(f'int {name}(void) {{ return sim_stub("{name}", 0); }}\n')
        versions.setdefault(version, []).append(name)
    options = ["-O1", "-w", f"-Wl,-soname,{library}", "-o", str(folder / library)]
    script = folder / f"{library}.map"
    nodes = [f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in versions.items() if version]
    if nodes:
        script.write_text("".join(nodes))
        options.append(f"-Wl,--version-script={script}")
    inputs = ["-x", "c", "-", "-x", "none", str(device_folder() / "libcuda.so.1")]
    argv = ["gcc", "-shared", "-fPIC", *options, *inputs]
    tool_output(argv, doing=f"Building {library}", stdin="".join(lines))
