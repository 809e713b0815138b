"""Which build of PyTorch is installed: for CUDA, for ROCm, or for the CPU only. Found without importing it."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType
from typing import Literal

Build = Literal["cuda", "rocm", "cpu", "unknown"]

_ASSIGNMENT = re.compile(r"^(cuda|hip)\s*(?::[^=\n]*)?=\s*(.+)$", re.MULTILINE)


def build_in_text(text: str) -> Build:
    """Return the build that ``torch/version.py`` tells.

    Example:
        >>> build_in_text("cuda: str | None = '13.0'"), build_in_text("cuda = None"), build_in_text("")
        ('cuda', 'cpu', 'unknown')
    """
    told = {match[1]: match[2].strip() != "None" for match in _ASSIGNMENT.finditer(text)}
    if told.get("cuda"):
        return "cuda"
    if told.get("hip"):
        return "rocm"
    return "cpu" if "cuda" in told else "unknown"


def installed_build() -> Build:
    """Return the build of the installed distribution; ``unknown`` where its files are not where metadata says."""
    try:
        path = Path(str(distribution("torch").locate_file("torch/version.py")))
        return build_in_text(path.read_text(encoding="utf-8"))
    except (PackageNotFoundError, OSError, UnicodeDecodeError):
        return "unknown"


def imported_build(module: ModuleType) -> Build:
    """Return the build of the imported module."""
    version = getattr(module, "version", None)
    if getattr(version, "cuda", None):
        return "cuda"
    if getattr(version, "hip", None):
        return "rocm"
    return "cpu" if hasattr(version, "cuda") else "unknown"


def why_not(build: Build) -> str:
    """Return why a build has no NVIDIA GPU to use, empty where it may have one."""
    if build == "cpu":
        return "the installed PyTorch is built without CUDA (torch.version.cuda is None)"
    if build == "rocm":
        return "the installed PyTorch is built for ROCm; gpumem-torch translates policies for NVIDIA GPUs"
    return ""
