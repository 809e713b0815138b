"""What the files of a framework want of the vendor's libraries."""

from __future__ import annotations

import mmap
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpumem_simgpu.device import LIBRARIES
from gpumem_simgpu.tools import tool_output

_VENDOR = re.compile(r"lib(cu|nv|nccl)\w*\.so[.\d]*")
# The names of a library's functions begin with its own name, but for these.
_PREFIXES = {"nvshmem_host": "nvshmem", "nvrtc-builtins": "nvrtc"}
_FUNCTION = re.compile(rb"(?<=\0)(?:cublas|cublasLt|cudnn|cufft|cusolver|cusparse|cupti)[A-Z][A-Za-z0-9_]+(?=\0)")


@dataclass(frozen=True)
class Symbol:
    """A function that a framework wants, the library it comes from, and its symbol version or ""."""

    name: str
    library: str
    version: str


def vendor_needs(path: Path) -> list[str]:
    dynamic = tool_output(["readelf", "-d", path], doing=f"Reading {path.name}")
    return [name for name in re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic) if _is_vendor(name, path)]


def _is_vendor(name: str, consumer: Path) -> bool:
    """Say whether a needed library is the vendor's and neither simulated nor brought along."""
    if not _VENDOR.fullmatch(name) or name in LIBRARIES or name.startswith(("libcurl", "libcudart")):
        return False
    return not (consumer.parent / name).exists()


def undefined_symbols(path: Path, needs: Sequence[str]) -> list[Symbol]:
    """Return what a file wants of the libraries that it needs: by symbol version, else by name."""
    if not needs:
        return []
    owners = _version_owners(path)
    found = []
    listed = tool_output(["nm", "-D", "--undefined-only", path], doing=f"Reading {path.name}")
    for line in filter(str.strip, listed.splitlines()):
        name, _, version = line.split()[-1].replace("@@", "@").partition("@")
        library = owners.get(version) if version else library_by_prefix(name, needs)
        if library is not None and library in needs:
            found.append(Symbol(name, library, version))
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


def named_functions(path: Path, libraries: Collection[str]) -> Iterator[Symbol]:
    """Return the functions that a file looks up by name when it runs: the names stand in its constants."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        names = {found.group().decode() for found in _FUNCTION.finditer(content)}
    for name in sorted(names):
        library = library_by_prefix(name, sorted(libraries))
        if library is not None:
            yield Symbol(name, library, "")


def library_by_prefix(name: str, needs: Sequence[str]) -> str | None:
    fitting = [library for library in needs if name.lower().startswith(_prefix(library).lower())]
    # "cublasLtCreate" begins with both "cublas" and "cublasLt": the longer name is meant.
    return max(fitting, key=lambda library: len(_prefix(library)), default=None)


def _prefix(library: str) -> str:
    stem = library.removeprefix("lib").partition(".so")[0]
    return _PREFIXES.get(stem, stem)
