"""Finds out in which state TensorFlow is, without importing, creating or starting anything."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from gpumem.plugin import Answer, FrameworkState, NativeSetting, Size, cuda_state, installed_versions
from gpumem_tensorflow.context_view import Context, context_module, current_context, gpus, limits, ordinal, visible_gpus
from gpumem_tensorflow.describe import DISTRIBUTIONS
from gpumem_tensorflow.logical_devices import sum_in_bytes
from gpumem_tensorflow.observe import observe_context
from gpumem_tensorflow.start_guard import StartGuard, find_guard
from gpumem_tensorflow.variables import read_growth

_BUILD_INFO = "tensorflow.python.platform.build_info"


def find_state(environ: Mapping[str, str]) -> FrameworkState:
    """Return the state of TensorFlow in this process."""
    versions = installed_versions(DISTRIBUTIONS)
    module = context_module()
    if module is None:
        why_not = _why_no_gpu_unimported(versions)
        return FrameworkState(
            versions=versions, evidence=_evidence_unimported(), applicable=not why_not, why_not=why_not
        )
    context = current_context(module)
    guard = find_guard(module)
    started, evidence = _started(context, guard)
    why_not = _why_no_gpu(context)
    return FrameworkState(
        versions=versions,
        imported=Answer.YES,
        started=started,
        evidence=evidence,
        applicable=not why_not,
        why_not=why_not,
        settings=_settings(context, guard, environ) if context is not None else (),
        observations=observe_context(module),
    )


def _evidence_unimported() -> str:
    top = sys.modules.get("tensorflow")
    if top is None:
        return "tensorflow is not in sys.modules"
    if getattr(getattr(top, "__spec__", None), "_initializing", False):
        return "tensorflow is in sys.modules, but its import has not ended"
    return f"the module tensorflow ({getattr(top, '__file__', None)}) is not TensorFlow"


def _why_no_gpu_unimported(versions: Mapping[str, str]) -> str:
    if sys.platform in ("win32", "darwin"):
        return "TensorFlow has no CUDA build for this operating system (since 2.11 for Windows)"
    top = sys.modules.get("tensorflow")
    if top is not None and not getattr(getattr(top, "__spec__", None), "_initializing", False):
        return _evidence_unimported()
    if set(versions) == {"tensorflow-cpu"}:
        return "tensorflow-cpu is a build without GPU support"
    return ""


def _started(context: Context | None, guard: StartGuard | None) -> tuple[Answer, str]:
    """Tell whether TensorFlow has made its GPU allocators, with what was read to tell.

    Sessions, servers and device_lib make them while the context has no handle; then each device has a primary
    CUDA context. Without such a context there is no allocator.
    """
    if context is not None and context._context_handle is not None:
        return Answer.YES, "tensorflow's context has a handle"
    if guard is not None and guard.record is not None:
        return Answer.YES, "gpumem saw TensorFlow start"
    if guard is not None and guard.clean:
        return Answer.NO, "tensorflow's context has no handle, and gpumem watches every other way to start"
    contexts = cuda_state().contexts
    if not contexts:
        return Answer.NO, "tensorflow's context has no handle, and no CUDA context exists"
    numbers = ", ".join(str(number) for number in sorted(contexts))
    return Answer.UNKNOWN, (
        f"tensorflow's context has no handle, but a CUDA context exists on GPU {numbers}: another library's, or "
        "TensorFlow's own through a Session, a Server or device_lib"
    )


def _why_no_gpu(context: Context | None) -> str:
    build: ModuleType | None = sys.modules.get(_BUILD_INFO)
    info: Any = getattr(build, "build_info", {})
    if not (info.get("is_cuda_build", True) or info.get("is_rocm_build", False)):
        return "this TensorFlow is a build without GPU support"
    if context is not None and context._physical_devices is not None and not gpus(context):
        return "TensorFlow found no GPU when it looked (the result is kept for the process)"
    return ""


def _settings(context: Context, guard: StartGuard | None, environ: Mapping[str, str]) -> tuple[NativeSetting, ...]:
    """Return what the program itself set through TensorFlow's API; what the guard set is left out."""
    found: list[NativeSetting] = []
    for device in gpus(context):
        own = limits(context, device)
        total = sum_in_bytes(own)
        if own and total is not None and not (guard is not None and guard.made(context, device)):
            source = "tf.config.set_logical_device_configuration()"
            found.append(NativeSetting("cap", Size(bytes=total), source, ordinal(device)))
    # The variable beats the API both ways (gpu_bfc_allocator.cc): where it can be read, the API says nothing.
    grows = any(context._memory_growth_map.get(device) for device in visible_gpus(context))
    if grows and read_growth(environ) is None:
        found.append(NativeSetting("preallocate", value=False, source="tf.config.experimental.set_memory_growth()"))
    seen = tuple(ordinal(device) for device in visible_gpus(context))
    if len(seen) < len(gpus(context)) and not (guard is not None and guard.calls("visible")):
        found.append(NativeSetting("visible", seen or "none", "tf.config.set_visible_devices()"))
    return (*found, *_config_settings(context, guard, environ))


def _config_settings(
    context: Context, guard: StartGuard | None, environ: Mapping[str, str]
) -> tuple[NativeSetting, ...]:
    """Return what a ConfigProto says that the program gave to the context."""
    if context._config is None or (guard is not None and guard.record is not None):
        return ()
    options: Any = context._config.gpu_options
    source = "ConfigProto given to TensorFlow's context"
    found = []
    if 0 < options.per_process_gpu_memory_fraction <= 1:
        found.append(NativeSetting("fraction", float(options.per_process_gpu_memory_fraction), source))
    if options.allow_growth and read_growth(environ) is None:
        found.append(NativeSetting("preallocate", value=False, source=source))
    if options.experimental.use_cuda_malloc_async:
        found.append(NativeSetting("allocator", "async", source))
    return tuple(found)
