"""Whose shared object it was that asked for memory."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePath

_OWNERS = (
    ("jax", re.compile(r"/(jax_plugins|jaxlib|jax_cuda\d+_plugin)/|/xla_cuda_plugin\.so$")),
    ("tensorflow", re.compile(r"/tensorflow/|/libtensorflow_(cc|framework)\.so")),
    ("torch", re.compile(r"/torch/|/lib(torch|c10)_\w+\.so$")),
    ("cupy", re.compile(r"/(cupy|cupyx|cupy_backends)/|/cupy-runtime-\w+/")),
)


# A log names the same few files in each of its lines.
@lru_cache(maxsize=1024)
def library_name(path: str | None) -> str:
    """Return "jax", "tensorflow", "torch" or "cupy" for their files, the file's name for others."""
    if not path:
        return "unknown"
    owner = next((name for name, pattern in _OWNERS if pattern.search(path)), None)
    return owner or PurePath(path).name
