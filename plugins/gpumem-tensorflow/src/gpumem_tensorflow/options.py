"""TensorFlow's own options that a policy may pass through: a small validated set, each one a variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

from gpumem_tensorflow.variables import (
    ALLOCATOR,
    ASYNC_PREALLOCATION,
    CUBLAS_WORKSPACE,
    CUDNN_WORKSPACE,
    GARBAGE_COLLECTION,
    GROWTH,
    HOST_LIMIT,
    RESERVE,
    SINGLE_REQUEST_LIMIT,
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        kind: ``whole`` for a whole number from 0 on, ``bool`` for true or false.
        meaning: one sentence for people.
    """

    kind: Literal["whole", "bool"]
    meaning: str


OPTIONS: Final[Mapping[str, Option]] = {
    RESERVE: Option("whole", "MB left free by the default limit; without effect on a device with a limit of its own."),
    GARBAGE_COLLECTION: Option("bool", "Whether free regions go back to the driver before an out-of-memory error."),
    HOST_LIMIT: Option("whole", "MB of pinned host memory that TensorFlow's host pool may hold."),
    CUDNN_WORKSPACE: Option("whole", "MB of the pool that a convolution may use as scratch space."),
    CUBLAS_WORKSPACE: Option("whole", "MB of the pool that a matrix product may use as scratch space."),
}
"""What each variable does stands in TensorFlow's sources: gpu_device.cc, gpu_bfc_allocator.cc, gpu_process_state.cc,
gpu_utils.cc (dnn and blas scratch allocators)."""

_FIELDS_INSTEAD: Final[Mapping[str, str]] = {
    GROWTH: "growth",
    ALLOCATOR: "allocator",
    ASYNC_PREALLOCATION: "preallocate",
    SINGLE_REQUEST_LIMIT: "cap",
    "memory_limit": "cap",
    "per_process_gpu_memory_fraction": "fraction",
    "allow_growth": "growth",
    "visible_device_list": "visible",
    "use_unified_memory": 'allocator = "managed"',
    "use_cuda_malloc_async": 'allocator = "async"',
}


class OptionError(ValueError):
    """An option has an unknown name or a value it cannot have; the message is a sentence for people."""


def option_text(name: str, value: object) -> str:
    """Return the text of the variable `name` for `value`.

    Raises:
        OptionError: the name is not one of `OPTIONS`, or the value does not fit it.
    """
    option = OPTIONS.get(name)
    if option is None:
        raise OptionError(_unknown(name))
    if option.kind == "bool":
        truth = value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value).lower())
        if truth is None:
            message = f"{name} is true or false, not {value!r}"
            raise OptionError(message)
        return "true" if truth else "false"
    text = str(value).strip()
    if isinstance(value, bool) or not (text.isascii() and text.isdigit()):
        message = f"{name} is a whole number of MB, not {value!r}"
        raise OptionError(message)
    return str(int(text))


def _unknown(name: str) -> str:
    if name in _FIELDS_INSTEAD:
        return f"{name} is said by the policy's own field: write {_FIELDS_INSTEAD[name]}"
    near = get_close_matches(name.upper(), OPTIONS, n=1, cutoff=0.6)
    hint = f"; did you mean {near[0]}?" if near else f"; the options are {', '.join(OPTIONS)}"
    return f"TensorFlow's plugin passes no option {name} through{hint}"
