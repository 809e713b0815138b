"""The C of a stand-in: functions that do nothing, and say what a caller must hear in order to go on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpumem_simgpu.wanted_symbols import Symbol

# Their first argument is where the new object goes; frameworks end the process when nothing is put there.
# (cuDNN's backend calls have it second, and cuFFT's object is a mere int.)
_MAKER = re.compile(r"(?!cudnnBackend)(cublas|cublasLt|cudnn|cusparse|cusolver|curand)\w*Create\w*")
_TEXT = re.compile(r"(cublas|cublasLt|cudnn|cusparse|cusolver|cupti|nccl|nvrtc)Get\w*(String|Name)")
_PROPERTY = re.compile(r"(cublas|cublasLt|cudnn|cusparse|cusolver|cufft|curand)GetProperty")
# Newer than any framework was built with, and of the same major version: all of them accept that.
_MINOR = 99


def standin_source(library: str, symbols: Iterable[Symbol]) -> tuple[str, str]:
    """Return the C of one library, and its version script ("" where no symbol has a version)."""
    versions: dict[str, str] = {}
    for symbol in symbols:
        # One framework links a function with its version, another one looks it up without.
        versions[symbol.name] = max(symbol.version, versions.get(symbol.name, ""))
    lines = ["int sim_stub(const char *, int);\nstatic long made[64];\n"]
    lines += [_function(name, _major(library)) for name in sorted(versions)]
    nodes = []
    for version in sorted(set(versions.values()) - {""}):
        names = sorted(name for name, its_version in versions.items() if its_version == version)
        nodes.append(f"{version} {{ global: {'; '.join(names)}; }};\n")
    return "".join(lines), "".join(nodes)


def _major(library: str) -> int:
    found = re.search(r"\.so\.(\d+)", library)
    return int(found.group(1)) if found else 0


def _function(name: str, major: int) -> str:
    log = f'sim_stub("{name}", 0)'
    if _MAKER.fullmatch(name):
        return f"int {name}(void **out) {{ if (out) *out = made; return {log}; }}\n"
    if _PROPERTY.fullmatch(name):
        value = f"which == 0 ? {major} : which == 1 ? {_MINOR} : 0"
        return f"int {name}(int which, int *value) {{ *value = {value}; return {log}; }}\n"
    if name == "cudnnGetVersion":
        return f"unsigned long {name}(void) {{ {log}; return {major * 10000 + _MINOR * 100}; }}\n"
    if _TEXT.fullmatch(name):
        return f'const char *{name}(void) {{ {log}; return "a stand-in of the simulated GPU"; }}\n'
    return f"long {name}(void) {{ return {log}; }}\n"
