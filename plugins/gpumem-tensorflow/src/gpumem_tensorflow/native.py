"""Reads what the user's own variables mean to TensorFlow, exactly as its parsers do."""

from __future__ import annotations

from collections.abc import Mapping

from gpumem.plugin import NativeFault, NativeReading, NativeSetting
from gpumem_tensorflow.variables import (
    ALLOCATOR,
    ALLOCATOR_WORDS,
    ASYNC_PREALLOCATION,
    CUBLAS_WORKSPACE,
    CUDNN_WORKSPACE,
    GARBAGE_COLLECTION,
    GROWTH,
    HOST_LIMIT,
    RESERVE,
    SINGLE_REQUEST_LIMIT,
    read_allocator,
    read_growth,
)

_NUMBERS = (ASYNC_PREALLOCATION, RESERVE, HOST_LIMIT, CUDNN_WORKSPACE, CUBLAS_WORKSPACE)


def read_native(environ: Mapping[str, str]) -> NativeReading:
    """Return the policy fields that the variables decide, and the values that do not mean what they seem to.

    None of TensorFlow's memory variables makes it lose the GPU or abort: no fault is fatal.
    """
    settings: list[NativeSetting] = []
    faults: list[NativeFault] = []
    growth = read_growth(environ)
    if growth is not None:
        settings.append(NativeSetting("preallocate", not growth, f"environment {GROWTH}"))
        if not growth and environ.get("KERAS_BACKEND", "tensorflow") not in ("", "tensorflow"):
            # keras/src/backend/config.py (3.15.1): with another backend it writes "true", whatever was there.
            backend = environ["KERAS_BACKEND"]
            problem = f'is replaced by "true" when Keras is imported with KERAS_BACKEND={backend}: memory grows'
            faults.append(NativeFault(GROWTH, environ[GROWTH], problem))
    elif text := environ.get(GROWTH):
        problem = 'is not read: TensorFlow accepts exactly "true" or "false", logs an error and goes on without it'
        faults.append(NativeFault(GROWTH, text, problem))
    word = read_allocator(environ)
    if word is not None:
        settings.append(NativeSetting("allocator", word, f"environment {ALLOCATOR}"))
    elif text := environ.get(ALLOCATOR):
        known = ", ".join(ALLOCATOR_WORDS)
        problem = f"is ignored by TensorFlow without a message, its pool (BFC) is used; it knows {known}"
        faults.append(NativeFault(ALLOCATOR, text, problem))
    faults += _other_faults(environ)
    return NativeReading(tuple(settings), tuple(faults))


def _other_faults(environ: Mapping[str, str]) -> list[NativeFault]:
    faults = []
    if text := environ.get(SINGLE_REQUEST_LIMIT):
        # Seen on 2.18 and 2.21: with 4000 and growth TensorFlow still reached 14336 MiB.
        problem = "is no cap: TensorFlow refuses only single requests above it and holds more in all; write a cap"
        faults.append(NativeFault(SINGLE_REQUEST_LIMIT, text, problem))
    for name in _NUMBERS:
        text = environ.get(name, "")
        if text and not text.removeprefix("-").isdigit():
            problem = "is not a whole number: TensorFlow logs an error and uses its default"
            faults.append(NativeFault(name, text, problem))
    text = environ.get(GARBAGE_COLLECTION, "")
    if text and text not in ("true", "false"):
        problem = 'is not read: TensorFlow accepts exactly "true" or "false", logs an error and keeps its default, true'
        faults.append(NativeFault(GARBAGE_COLLECTION, text, problem))
    return faults
