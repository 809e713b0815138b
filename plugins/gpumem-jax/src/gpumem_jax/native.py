"""What the user's own variables mean to JAX, and which of them do harm.

A variable that JAX cannot read makes it lose the GPU without an error: the discovery of its backends logs "Jax
plugin configuration error" and goes on with the CPU (jax/_src/xla_bridge.py, discover_pjrt_plugins; run on 0.4.35
and 0.12.0.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from gpumem.plugin import NativeFault, NativeReading, NativeSetting
from gpumem_jax import builds, variables
from gpumem_jax.variables import UserVariables, is_share

_LOST: Final = "JAX logs an error, goes on without the GPU and runs on the CPU"
_TYPED: Final = frozenset({"memory_fraction", "preallocate", "collective_memory_size"})
"""Create options that are no text: given as text they make JAX fail (run on 0.12.0.1: INVALID_ARGUMENT)."""


def read_variables(environ: Mapping[str, str], versions: Mapping[str, str]) -> NativeReading:
    """Return what the variables decide and what is wrong with them. Pure."""
    user = variables.read(environ)
    faults = tuple(fault for check in _CHECKS for fault in check(environ, user, versions))
    return NativeReading(tuple(_settings(user)), faults)


def _settings(user: UserVariables) -> Iterator[NativeSetting]:
    holds = user.word in variables.HOLDS_CAP
    fraction = user.fraction
    # With unified memory a fraction above 1 is a limit; a smaller one is none, and under cuda_async none is.
    managed = user.word == "managed" and fraction is not None and 1 <= fraction < float("inf")
    if fraction is not None and ((holds and is_share(fraction)) or managed):
        yield NativeSetting("fraction", fraction, f"environment {user.fraction_name}")
    if user.preallocate is not None:
        yield NativeSetting("preallocate", user.preallocate, f"environment {variables.PREALLOCATE}")
    if user.create_options.get("allocator", "") in variables.WORDS:
        yield NativeSetting("allocator", user.word, f"environment {variables.CREATE_OPTIONS}")
    elif user.unified and user.word == "managed":
        yield NativeSetting("allocator", "managed", f"environment {variables.UNIFIED}")
    elif user.allocator is not None and user.allocator in variables.WORDS:
        word = "default" if user.allocator == "default" else variables.WORDS[user.allocator]
        yield NativeSetting("allocator", word, f"environment {variables.ALLOCATOR}")


def _fraction(environ: Mapping[str, str], user: UserVariables, _versions: Mapping[str, str]) -> Iterator[NativeFault]:
    old, new = environ.get(variables.FRACTION, ""), environ.get(variables.NEW_FRACTION, "")
    if old and new:
        problem = f"is set together with {variables.NEW_FRACTION}={new}, and JAX refuses to have both: {_LOST}"
        yield NativeFault(variables.FRACTION, old, problem, fatal=True)
        return
    text, name = new or old, user.fraction_name
    if name is None:
        return
    value = user.fraction
    if value is None:
        yield NativeFault(name, text, f"is no number: {_LOST}; write a share such as 0.5", fatal=True)
    elif value == 0:
        yield NativeFault(name, text, "lets JAX allocate nothing at all: each request runs out of memory")
    elif not is_share(value) and not (user.word == "managed" and 1 <= value < float("inf")):
        problem = "is no share of the memory: JAX checks nothing and takes almost all of it; write a share such as 0.5"
        yield NativeFault(name, text, problem)
    elif user.word == "managed" and value < 1:
        problem = f"is no limit with {variables.UNIFIED}: JAX then may hold as much as the device has"
        yield NativeFault(name, text, problem)
    elif user.word not in {*variables.HOLDS_CAP, "managed"}:
        problem = f"is no limit with {variables.ALLOCATOR}={user.allocator or user.create_options.get('allocator')}"
        yield NativeFault(name, text, problem)


def _preallocate(
    environ: Mapping[str, str], user: UserVariables, _versions: Mapping[str, str]
) -> Iterator[NativeFault]:
    text = environ.get(variables.PREALLOCATE, "")
    looks_off = text.strip().lower() in {"false", "0", "no", "off", "n", "f"}
    if user.preallocate and looks_off:
        problem = "looks like off, but JAX reads it as on: only false, False and 0 are off"
        yield NativeFault(variables.PREALLOCATE, text, problem)


def _allocator(environ: Mapping[str, str], user: UserVariables, versions: Mapping[str, str]) -> Iterator[NativeFault]:
    if user.allocator is not None and user.allocator not in _known_words(versions):
        text = environ[variables.ALLOCATOR]
        accepted = ", ".join(_known_words(versions))
        yield NativeFault(variables.ALLOCATOR, text, f"is no allocator of this JAX ({accepted}): {_LOST}", fatal=True)
    elif user.allocator == "platform" and builds.backend_version(versions) in builds.PLATFORM_IS_BFC:
        problem = "is broken in JAX 0.10.1 and 0.10.2: the pool (BFC) is in force instead"
        yield NativeFault(variables.ALLOCATOR, environ[variables.ALLOCATOR], problem)
    unified = environ.get(variables.UNIFIED, "")
    if unified and unified.lower() not in {"0", "1", "true", "false"}:
        yield NativeFault(variables.UNIFIED, unified, "is neither 0, 1, true nor false: JAX leaves unified memory off")


def _known_words(versions: Mapping[str, str]) -> tuple[str, ...]:
    version = builds.jaxlib_version(versions)
    words = ["default", "platform", "bfc", "cuda_async"]
    if version is None or version >= builds.VMM:
        words.append("vmm")
    if version is None or version >= (0, 11, 0):
        words.append("address")
    return tuple(words)


def _whole_numbers(
    environ: Mapping[str, str], user: UserVariables, versions: Mapping[str, str]
) -> Iterator[NativeFault]:
    """Variables that JAX reads with `int()`; two of them even if they are empty."""
    version = builds.jaxlib_version(versions)
    read = [variables.COLLECTIVE_SIZE] if environ.get(variables.COLLECTIVE_SIZE) else []
    if version is None or version >= builds.ABORT_COLLECTIVES:
        read.append(variables.ABORT)
    if version is None or version >= builds.TFRT_CLIENT:
        read.append(variables.TFRT)
    for name in read:
        if name in environ and not _is_whole(environ[name]):
            yield NativeFault(name, environ[name], f"is no whole number: {_LOST}", fatal=True)
    if user.word == "async":
        text = environ.get(variables.ASYNC_PREALLOCATE, "0")
        if not _is_whole(text):
            problem = "is no whole number: JAX ends the process when it starts (cuda_async reads it)"
            yield NativeFault(variables.ASYNC_PREALLOCATE, text, problem, fatal=True)


def _is_whole(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def _create_options(
    environ: Mapping[str, str], user: UserVariables, _versions: Mapping[str, str]
) -> Iterator[NativeFault]:
    text = environ.get(variables.CREATE_OPTIONS, "")
    for name in user.create_options.keys() & _TYPED:
        problem = f"gives {name} as text, which the CUDA backend refuses: JAX cannot start it. Use the variable for it"
        yield NativeFault(variables.CREATE_OPTIONS, text, problem, fatal=True)
    allocator = user.create_options.get("allocator")
    if allocator is not None and allocator not in variables.WORDS:
        problem = f"names an allocator that the CUDA backend does not have ({allocator}): JAX cannot start it"
        yield NativeFault(variables.CREATE_OPTIONS, text, problem, fatal=True)


def _platforms(environ: Mapping[str, str], _user: UserVariables, _versions: Mapping[str, str]) -> Iterator[NativeFault]:
    text = environ.get(variables.PLATFORMS, "")
    if "gpu" in [name.strip() for name in text.split(",")]:
        problem = "makes JAX fail at its start: gpu stands for cuda, rocm and oneapi, and each must start; write cuda"
        yield NativeFault(variables.PLATFORMS, text, problem, fatal=True)
    if environ.get(variables.NEVER_READ):
        problem = 'is read by no version of JAX; use jax.config.update("jax_cuda_visible_devices", "0,2") or visible'
        yield NativeFault(variables.NEVER_READ, environ[variables.NEVER_READ], problem)


_Check = Callable[[Mapping[str, str], UserVariables, Mapping[str, str]], Iterator[NativeFault]]
_CHECKS: Final[tuple[_Check, ...]] = (
    _fraction,
    _preallocate,
    _allocator,
    _whole_numbers,
    _create_options,
    _platforms,
)


def hidden_by(environ: Mapping[str, str]) -> str:
    """Return the sentence on a user's variable that keeps JAX from every GPU, empty if there is none.

    Example:
        >>> hidden_by({"JAX_PLATFORMS": "cpu"})
        'JAX_PLATFORMS=cpu leaves no GPU to JAX'
    """
    text = environ.get(variables.PLATFORMS)
    return f"{variables.PLATFORMS}={text} leaves no GPU to JAX" if variables.excludes_gpus(text) else ""
