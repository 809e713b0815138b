"""The public CUDA headers, from the wheels that bring them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from gpumem_simgpu.errors import SimulationError

_WHEELS = {12: "nvidia-cuda-runtime-cu12", 13: "nvidia-cuda-runtime"}
_WANTED = {12: ">=12.6,<13", 13: ">=13.0,<14"}


@dataclass(frozen=True)
class Headers:
    """One CUDA major version: where its headers are, and the runtime whose names are wanted."""

    major: int
    release: str
    include: Path
    runtime: Path

    @property
    def api_version(self) -> int:
        """The number that CUDART_VERSION has in these headers, such as 12090."""
        text = (self.include / "cuda_runtime_api.h").read_text(errors="replace")
        found = re.search(r"#define\s+CUDART_VERSION\s+(\d+)", text)
        return int(found.group(1)) if found else self.major * 1000


def find_headers(major: int) -> Headers:
    """Return the headers of one CUDA major version that are installed beside this package."""
    wheel = _WHEELS[major]
    try:
        distribution = metadata.distribution(wheel)
    except metadata.PackageNotFoundError:
        raise SimulationError(_missing(wheel, major)) from None
    files = {str(file): Path(str(distribution.locate_file(file))) for file in distribution.files or ()}
    include = next((p for name, p in files.items() if name.endswith("include/cuda_runtime_api.h")), None)
    runtime = next((p for name, p in files.items() if name.endswith(f"/libcudart.so.{major}")), None)
    if include is None or runtime is None or not include.exists() or not runtime.exists():
        raise SimulationError(_missing(wheel, major))
    return Headers(major, distribution.version, include.parent, runtime)


def _missing(wheel: str, major: int) -> str:
    return (
        f"The simulated GPU is compiled against the CUDA {major} headers, which are not installed: "
        f'run pip install --no-deps "{wheel}{_WANTED[major]}" for the Python that runs gpumem_simgpu '
        '(or install "gpumem-simgpu[headers]").'
    )
