"""C that is written from the headers: stand-ins for what nobody wrote by hand, and tables of names.

A stand-in logs its name and answers "not supported".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpumem_simgpu.headers import Headers
from gpumem_simgpu.tools import tool_output

_NOT_SUPPORTED = 801
_HEAD = "#pragma GCC visibility push(default)\nint sim_stub(const char *, int);\n"
_TAIL = "#pragma GCC visibility pop\n"
# cuda.h renames calls by these macros; each way of reading it shows other names.
_READINGS = ("-D__CUDA_API_VERSION_INTERNAL", "-DSIMGPU_PLAIN", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM")
_PER_THREAD = re.compile(r"_(ptsz|ptds)$")


def defined_names(objects: Sequence[Path]) -> set[str]:
    """Return the global symbols that these object files define."""
    text = tool_output(["nm", "--defined-only", "-g", *objects], doing="Reading object files")
    return {words[-1] for line in text.splitlines() if len(words := line.split()) == 3}


def exported_functions(library: Path) -> set[str]:
    """Return the functions that a shared library exports, without their versions."""
    text = tool_output(["nm", "-D", "--defined-only", library], doing=f"Reading {library.name}")
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if " T " in line}


def stub_source(names: Iterable[str], written: set[str]) -> str:
    """Return C that defines every name in ``names`` that is not in ``written``."""
    lines = [_HEAD]
    for name in sorted(set(names) - written):
        base = _PER_THREAD.sub("", name)
        if base != name and base in written:
            # The per-thread-stream variant of a call that is written: there is only one stream order here.
            lines.append(f'__asm__(".globl {name}\\n.type {name},@function\\n{name}: jmp {base}@PLT\\n");\n')
        else:
            lines.append(f'int {name}(void) {{ return sim_stub("{name}", {_NOT_SUPPORTED}); }}\n')
    return "".join([*lines, _TAIL])


def driver_source(objects: Sequence[Path], headers: Sequence[Headers]) -> str:
    """Return the stubs of the driver, the table of its entry points and that of its errors."""
    names: set[str] = set()
    for found in headers:
        for reading in _READINGS:
            flags = [reading, f"-I{found.include}", "-include", "cuda.h", "-x", "c"]
            text = tool_output(["gcc", "-E", "-P", *flags, "/dev/null"], doing="Reading cuda.h")
            names |= set(re.findall(r"\bCUresult\s+(cu[A-Z]\w+)\s*\(", text))
    written = defined_names(objects)
    return stub_source(names, written) + _entry_points(headers, names | written) + _driver_errors(headers[-1])


def runtime_source(objects: Sequence[Path], headers: Headers) -> str:
    """Return the stubs of a runtime and the table of its errors."""
    text = (headers.include / "driver_types.h").read_text(errors="replace")
    errors = _codes(re.search(r"enum[^{;]*cudaError\b[^{;]*\{(.*?)\}", text, re.DOTALL), "cuda")
    rows = [f'  {{{code}, "{name}"}},\n' for name, code in errors.items()]
    table = _table("sim_runtime_errors", "int code; const char *name;", rows)
    return stub_source(exported_functions(headers.runtime), defined_names(objects)) + table


def _entry_points(headers: Sequence[Headers], known: set[str]) -> str:
    versions: dict[str, set[int]] = {}
    for found in headers:
        typedefs = (found.include / "cudaTypedefs.h").read_text(errors="replace")
        for name, version in re.findall(r"PFN_(cu[A-Za-z0-9]+)_v(\d+)\)", typedefs):
            versions.setdefault(name, set()).add(int(version))
    rows = []
    for name, numbers in sorted(versions.items()):
        for index, number in enumerate(sorted(numbers), start=1):
            symbol = name if index == 1 or f"{name}_v{index}" not in known else f"{name}_v{index}"
            rows.append(f'  {{"{name}", {number}, "{symbol}"}},\n')
    return _table("sim_entry_points", "const char *name; int version; const char *symbol;", rows)


def _driver_errors(headers: Headers) -> str:
    text = (headers.include / "cuda.h").read_text(errors="replace")
    errors = _codes(re.search(r"enum cudaError_enum \{(.*?)\}", text, re.DOTALL), "CUDA_")
    rows = []
    for name, code in errors.items():
        words = name.removeprefix("CUDA_ERROR_").replace("_", " ").lower()
        rows.append(f'  {{{code}, "{name}", "{words}"}},\n')
    return _table("sim_error_names", "int code; const char *name, *text;", rows)


def _codes(enumeration: re.Match[str] | None, prefix: str) -> dict[str, int]:
    body = "" if enumeration is None else re.sub(r"/\*.*?\*/", "", enumeration[1], flags=re.DOTALL)
    return {name: int(code, 0) for name, code in re.findall(rf"\b({prefix}\w+)\s*=\s*(\w+)", body)}


def _table(name: str, fields: str, rows: Sequence[str]) -> str:
    return f"const struct {{ {fields} }} {name}[] = {{\n{''.join(rows)}}};\nconst int {name}_count = {len(rows)};\n"
