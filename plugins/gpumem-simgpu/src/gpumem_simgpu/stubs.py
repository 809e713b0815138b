"""C for every entry point that nobody wrote by hand: it logs its name and answers "not supported"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpumem_simgpu.headers import Headers
from gpumem_simgpu.tools import tool_output

_NOT_SUPPORTED = 801
_DECLARATION = "int sim_stub(const char *, int);\n"
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
    lines = [_DECLARATION]
    for name in sorted(set(names) - written):
        base = _PER_THREAD.sub("", name)
        if base != name and base in written:
            # The per-thread-stream variant of a call that is written: there is only one stream order here.
            lines.append(f'__asm__(".globl {name}\\n.type {name},@function\\n{name}: jmp {base}@PLT\\n");\n')
        else:
            lines.append(f'int {name}(void) {{ return sim_stub("{name}", {_NOT_SUPPORTED}); }}\n')
    return "".join(lines)


def driver_source(objects: Sequence[Path], headers: Sequence[Headers]) -> str:
    """Return the stubs of the driver, and the table from which cuGetProcAddress answers."""
    names: set[str] = set()
    versions: dict[str, set[int]] = {}
    for found in headers:
        for reading in _READINGS:
            flags = [reading, f"-I{found.include}", "-include", "cuda.h", "-x", "c"]
            text = tool_output(["gcc", "-E", "-P", *flags, "/dev/null"], doing="Reading cuda.h")
            names |= set(re.findall(r"\bCUresult\s+(cu[A-Z]\w+)\s*\(", text))
        typedefs = (found.include / "cudaTypedefs.h").read_text(errors="replace")
        for name, version in re.findall(r"PFN_(cu[A-Za-z0-9]+)_v(\d+)\)", typedefs):
            versions.setdefault(name, set()).add(int(version))
    written = defined_names(objects)
    known = names | written
    rows = []
    for name, numbers in sorted(versions.items()):
        for index, number in enumerate(sorted(numbers), start=1):
            symbol = name if index == 1 or f"{name}_v{index}" not in known else f"{name}_v{index}"
            rows.append(f'  {{"{name}", {number}, "{symbol}"}},\n')
    table = "const struct { const char *name; int version; const char *symbol; } sim_entries[] = {\n"
    return f"{stub_source(names, written)}{table}{''.join(rows)}}};\nconst int sim_entries_n = {len(rows)};\n"
