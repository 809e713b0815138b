"""Stand-ins for the CUDA libraries that the installed frameworks link or open.

What PyTorch's and CuPy's own files say they need (DT_NEEDED) is made. TensorFlow and JAX open libraries by names
that they put together when they run, so those are listed here, for the CUDA release they were built with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from gpumem_simgpu.cache import cached, digest
from gpumem_simgpu.device import device_folder
from gpumem_simgpu.standin_source import standin_source
from gpumem_simgpu.target import Target
from gpumem_simgpu.tools import require_tools, tool_output
from gpumem_simgpu.wanted_symbols import Symbol, named_functions, undefined_symbols, vendor_needs

_OPENED = {
    12: ("cublas.so.12", "cublasLt.so.12", "cufft.so.11", "cusolver.so.11", "cusparse.so.12", "cupti.so.12"),
    13: ("cublas.so.13", "cublasLt.so.13", "cufft.so.12", "cusolver.so.12", "cusparse.so.12", "cupti.so.13"),
}
# Both have named cuDNN 9 in all their releases since it appeared.
_CUDNN = "libcudnn.so.9"
_LINKED = {
    "torch": "torch/lib/*.so",
    "cupy-cuda12x": "cupy*/**/*.so",
    "cupy-cuda13x": "cupy*/**/*.so",
}
_OPENERS = {
    "tensorflow": "tensorflow/libtensorflow_cc.so.2",
    "jax-cuda12-pjrt": "jax_plugins/xla_cuda12/xla_cuda_plugin.so",
    "jax-cuda13-pjrt": "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
}
_CODE = ("standins.py", "standin_source.py", "wanted_symbols.py")


@cache
def standin_folder(target: Target) -> Path | None:
    """Return the folder of stand-ins for the frameworks of this interpreter; None when it has none."""
    frameworks = [one for one in target.installed if one.name in _LINKED or one.name in _OPENERS]
    if not frameworks:
        return None
    code = [Path(__file__).with_name(name).read_bytes() for name in _CODE]
    key = digest([*code, *(f"{one.name}=={one.version}" for one in frameworks)])
    return cached(f"standins-{key}", lambda folder: _build(folder, target))


def _build(folder: Path, target: Target) -> None:
    require_tools("gcc", "nm", "readelf")
    wanted: dict[str, set[Symbol]] = {}
    for name, pattern in _LINKED.items():
        installed = target.find(name)
        for path in sorted(installed.folder.glob(pattern)) if installed else ():
            needs = vendor_needs(path)
            for library in needs:
                wanted.setdefault(library, set())
            for symbol in undefined_symbols(path, needs):
                wanted[symbol.library].add(symbol)
    for name, file in _OPENERS.items():
        installed = target.find(name)
        if installed is not None:
            opened = _opened_names(name, installed.folder)
            for library in opened:
                wanted.setdefault(library, set())
            for symbol in named_functions(installed.folder / file, opened) if opened else ():
                wanted[symbol.library].add(symbol)
    for library, symbols in sorted(wanted.items()):
        _build_one(folder, library, symbols)


def _opened_names(framework: str, folder: Path) -> list[str]:
    """Return the libraries that a framework opens; none for a build for the processor alone."""
    release = re.search(r"cuda(\d+)", framework)
    if framework == "tensorflow":
        text = (folder / "tensorflow/python/platform/build_info.py").read_text()
        release = re.search(r"'cuda_version', '(\d+)", text)
    if release is None:
        return []
    return [*(f"lib{name}" for name in _OPENED[int(release.group(1))]), _CUDNN]


def _build_one(folder: Path, library: str, symbols: Iterable[Symbol]) -> None:
    source, versions = standin_source(library, symbols)
    options = ["-O1", "-w", f"-Wl,-soname,{library}", "-o", str(folder / library)]
    if versions:
        script = folder / f"{library}.map"
        script.write_text(versions)
        options.append(f"-Wl,--version-script={script}")
    inputs = ["-x", "c", "-", "-x", "none", str(device_folder() / "libcuda.so.1")]
    tool_output(["gcc", "-shared", "-fPIC", *options, *inputs], doing=f"Building {library}", stdin=source)
