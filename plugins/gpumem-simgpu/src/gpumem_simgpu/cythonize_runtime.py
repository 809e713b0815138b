"""Translate CuPy's runtime.pyx to C++; run as a file by an interpreter that has the right Cython.

usage: cythonize_runtime.py SOURCE_FOLDER OUTPUT.cpp CUDA_API_VERSION
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version


def main(source: str, output: str, api_version: int) -> int:
    """Translate the one file, with the settings that CuPy's own build uses."""
    from Cython.Compiler import Main, Options

    os.chdir(source)  # its include paths are relative to it
    constants = {
        "CUPY_CUDA_VERSION": api_version,
        "CUPY_HIP_VERSION": 0,
        "CUPY_USE_CUDA_PYTHON": False,
        "CUPY_CUFFT_STATIC": False,
        "CUPY_CYTHON_VERSION": version("cython"),
        "CUPY_DEPENDENCY": None,
    }
    directives = {"binding": False, "linetrace": False, "profile": False, "embedsignature": True}
    # Cython 3 moved the options to another module.
    home = Options if hasattr(Options, "CompilationOptions") else Main
    options = home.CompilationOptions(
        home.default_options,
        language_level=3,
        cplus=True,
        include_path=["."],
        output_file=output,
        compile_time_env=constants,
        compiler_directives=directives,
    )
    return int(Main.compile("cupy_backends/cuda/api/runtime.pyx", options).num_errors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
