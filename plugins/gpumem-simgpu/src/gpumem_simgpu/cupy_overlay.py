"""CuPy's one extension that calls the runtime, built from its own source against the shared libcudart.

The wheel's extension holds a static runtime that verifies the driver and refuses a stand-in. That check is
the vendor's to make, and nothing here answers it: the extension is replaced by one without that runtime, in a
tree of links that PYTHONPATH puts before the wheel.
"""

from __future__ import annotations

import re
import shutil
import sys
import tarfile
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from gpumem_simgpu.cache import cached, digest
from gpumem_simgpu.device import SHIM, device_folder
from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.headers import Headers, find_headers
from gpumem_simgpu.target import Installed, Target
from gpumem_simgpu.tools import require_tools, tool_output

_MODULE = Path("cupy_backends/cuda/api")
_PACKAGES = ("cupy", "cupyx", "cupy_backends")
_TRANSLATOR = Path(__file__).with_name("cythonize_runtime.py")
_QUIETLY = ("--quiet", "--disable-pip-version-check")


@cache
def overlay_folder(target: Target) -> Path | None:
    """Return the folder to put before the wheel on PYTHONPATH; None without CuPy."""
    cupy = target.find("cupy-cuda12x", "cupy-cuda13x")
    if cupy is None:
        return None
    extension = _extension(target, cupy, find_headers(13 if cupy.name.endswith("13x") else 12))
    key = digest([Path(__file__).read_bytes(), str(extension), str(cupy.folder)])
    return cached(f"cupy-tree-{key}", lambda folder: _link_tree(folder, cupy.folder, extension))


def _extension(target: Target, cupy: Installed, headers: Headers) -> Path:
    """Return the built extension, which every environment with this CuPy and this Python shares."""
    shim = [path.read_bytes() for path in sorted(SHIM.rglob("*.h"))]
    code = [Path(__file__).read_bytes(), _TRANSLATOR.read_bytes(), *shim]
    key = digest([*code, cupy.name, cupy.version, target.suffix, headers.release])
    folder = cached(f"cupy-runtime-{key}", lambda place: _build(place, target, cupy, headers))
    return folder / f"runtime{target.suffix}"


def _build(folder: Path, target: Target, cupy: Installed, headers: Headers) -> None:
    require_tools("gcc", "g++")
    if not (target.include / "Python.h").exists():
        message = (
            f"CuPy's extension cannot be built, because {target.include}/Python.h is missing: install the "
            "development files of that Python (Debian and Ubuntu: python3-dev)."
        )
        raise SimulationError(message)
    builder = folder / "builder"
    tool_output([sys.executable, "-m", "venv", builder], doing="Making an environment for CuPy's build")
    python = builder / "bin/python"
    source = _source(python, folder, cupy.version)
    translated = folder / "runtime.cpp"
    cython = _with_cython(python, source)
    tool_output(
        [cython, _TRANSLATOR, source, translated, str(headers.api_version)],
        doing="Translating CuPy's runtime.pyx",
    )
    includes = (SHIM, source / "cupy_backends", source, source / _MODULE, headers.include, target.include)
    options = ["-O1", "-w", "-shared", "-fPIC", "-std=c++17", f"-DCUPY_CUDA_VERSION={headers.api_version}"]
    options += [f"-I{path}" for path in includes]
    library = device_folder() / f"libcudart.so.{headers.major}"
    output = folder / f"runtime{target.suffix}"
    tool_output(["g++", *options, translated, "-o", output, library], doing="Building CuPy's extension")
    _keep_only(folder, output)


def _source(python: Path, folder: Path, version: str) -> Path:
    """Download and unpack CuPy's source distribution of this version."""
    # pip asks the distribution for its metadata, which fails without CUDA unless CuPy is told to build on
    # stubs: by a switch of its own since CuPy 14, by the name of the documentation builder before.
    switch = {"CUPY_INSTALL_USE_STUB": "1", "READTHEDOCS": "True"}
    options = ["--no-deps", "--no-binary", "cupy", "--dest", str(folder), f"cupy=={version}"]
    argv = [str(python), "-m", "pip", "download", *_QUIETLY, *options]
    tool_output(argv, doing=f"Downloading the source of CuPy {version}", environment=switch)
    archives = sorted(folder.glob("cupy-*.tar.gz"))
    if not archives:
        message = f"The source distribution of CuPy {version} was not among what pip downloaded."
        raise SimulationError(message)
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder / "source", filter="data")
    return next((folder / "source").iterdir())


def _with_cython(builder: Path, source: Path) -> Path:
    """Return an interpreter whose Cython is one that this CuPy asks for."""
    texts = [path.read_text() for name in ("pyproject.toml", "setup.py") if (path := source / name).exists()]
    found = re.search(r"""["'](Cython\b[^"']*)["']""", "".join(texts))
    if found is None:
        message = f"{source.name} does not say which Cython it needs, so its extension cannot be built."
        raise SimulationError(message)
    wanted = Requirement(found.group(1))
    try:
        if wanted.specifier.contains(metadata.version("cython")):
            return Path(sys.executable)
    except metadata.PackageNotFoundError:
        pass
    # Cython of the older kind still imports distutils, which setuptools brings.
    argv = [str(builder), "-m", "pip", "install", *_QUIETLY, str(wanted), "setuptools<81"]
    tool_output(argv, doing=f"Installing {wanted}")
    return builder


def _keep_only(folder: Path, output: Path) -> None:
    """Remove what was only needed to build; the environment and the source are a hundred megabytes."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path != output:
            path.unlink()


def _link_tree(folder: Path, site: Path, extension: Path) -> None:
    """Fill a folder with links to the wheel, and put the built extension in its place."""
    for name in _PACKAGES:
        if name != _MODULE.parts[0]:
            (folder / name).symlink_to(site / name)
    inside = Path()
    for part, below in zip(_MODULE.parts, (*_MODULE.parts[1:], extension.name), strict=True):
        inside /= part
        (folder / inside).mkdir()
        for original in (site / inside).iterdir():
            if original.name not in (below, "__pycache__"):
                (folder / inside / original.name).symlink_to(original)
    (folder / _MODULE / extension.name).symlink_to(extension)
