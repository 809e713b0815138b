"""Carries out the calls of a plan."""

from __future__ import annotations

import importlib
from types import ModuleType

from gpumem.plugin import Progress, RuntimeCall, Undo
from gpumem_tensorflow.context_view import CONTEXT_MODULE
from gpumem_tensorflow.prepare_context import StartRefusedError
from gpumem_tensorflow.start_guard import guard_of

CALLS = ("variables", "visible", "limit", "managed")


def apply_call(call: RuntimeCall, module: ModuleType, progress: Progress) -> Undo:
    """Let a call wait for the moment in which TensorFlow creates its context.

    Raises:
        ValueError: the call is not one of `CALLS`.
        StartRefusedError: the context exists already, or the module is not TensorFlow.
    """
    if call.name not in CALLS:
        message = f"unknown call {call.name}"
        raise ValueError(message)
    try:
        context_module = importlib.import_module(CONTEXT_MODULE)
    except ImportError as error:
        message = f"{getattr(module, '__file__', None) or module!r} is not TensorFlow: it has no {CONTEXT_MODULE}"
        raise StartRefusedError(message) from error
    return guard_of(context_module).add(call, progress)
