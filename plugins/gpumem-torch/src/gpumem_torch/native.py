"""What the user's own variables mean to PyTorch."""

from __future__ import annotations

from collections.abc import Mapping

from gpumem.plugin import NativeFault, NativeReading, NativeSetting
from gpumem_torch.keys import reads_real
from gpumem_torch.parse import BadToken, Configuration, read
from gpumem_torch.release import ONE_CONFIGURATION, Release, installed_release, is_before
from gpumem_torch.variables import (
    CACHING_BY_VALUE,
    CUDA_NAME,
    HIP_NAME,
    NEW_NAME,
    NO_CACHING,
    caching_is_off,
    deciding_name,
)


def read_native(environ: Mapping[str, str], versions: Mapping[str, str]) -> NativeReading:
    """Return which policy fields the variables decide, and what is wrong with them."""
    release = installed_release(versions)
    faults = [*_name_faults(environ, release), *_caching_faults(environ, release)]
    settings: list[NativeSetting] = []
    name = deciding_name(environ, release)
    if name:
        configuration = read(environ[name], release)
        faults += [_fault(name, environ[name], token, release) for token in configuration.bad]
        if configuration.usable:
            settings += _settings(name, configuration)
            faults += _ineffective(name, environ[name], configuration)
    if caching_is_off(environ, release):
        settings = [item for item in settings if item.field != "allocator"]
        settings.append(NativeSetting("allocator", "direct", f"environment {NO_CACHING}"))
    return NativeReading(tuple(settings), tuple(faults))


def _settings(name: str, configuration: Configuration) -> list[NativeSetting]:
    values = configuration.values
    source = f"environment {name}"
    found: list[NativeSetting] = []
    if values.get("backend") == "cudaMallocAsync":
        found.append(NativeSetting("allocator", "async", source))
    elif values.get("expandable_segments") == "True":
        found.append(NativeSetting("allocator", "vmm", source))
    elif values.get("backend") == "native":
        found.append(NativeSetting("allocator", "pool", source))
    share = reads_real(values.get("per_process_memory_fraction", "1"))
    if share is not None and 0 < share < 1 and values.get("backend") != "cudaMallocAsync":
        found.append(NativeSetting("fraction", share, source))
    return found


def _ineffective(name: str, text: str, configuration: Configuration) -> list[NativeFault]:
    values = configuration.values
    faults = []
    share = values.get("per_process_memory_fraction")
    if share is not None and values.get("backend") == "cudaMallocAsync":
        problem = "sets a fraction that the backend cudaMallocAsync ignores: no limit is in force"
        faults.append(NativeFault(name, text, problem))
    elif share is not None and reads_real(share) == 0:
        faults.append(NativeFault(name, text, "sets the fraction 0: no GPU memory can be allocated at all", fatal=True))
    if values.get("expandable_segments") == "True" and "max_split_size_mb" in values:
        problem = (
            "combines expandable_segments with max_split_size_mb: near the limit PyTorch may fail with an internal "
            "assertion instead of running out of memory (pytorch/pytorch#119452)"
        )
        faults.append(NativeFault(name, text, problem))
    return faults


def _fault(name: str, text: str, token: BadToken, release: Release | None) -> NativeFault:
    where = f"{token.text!r} at character {token.position} {token.problem}"
    if token.harm == "import":
        return NativeFault(
            name, text, f"cannot be read: {where}; PyTorch ends the process at `import torch`", fatal=True
        )
    if token.harm == "use":
        later = "" if is_before(release, ONE_CONFIGURATION) else ", and a second try may crash the process"
        problem = f"cannot be read: {where}; PyTorch raises when the GPU is first used{later}"
        return NativeFault(name, text, problem, fatal=True)
    return NativeFault(name, text, f"reads otherwise than it looks: {where}")


def _name_faults(environ: Mapping[str, str], release: Release | None) -> list[NativeFault]:
    faults = []
    new, cuda = environ.get(NEW_NAME), environ.get(CUDA_NAME)
    old = is_before(release, ONE_CONFIGURATION)
    if new and old and cuda is None:
        problem = f"is not read for GPU memory before PyTorch 2.10; set {CUDA_NAME}"
        faults.append(NativeFault(NEW_NAME, new, problem))
    elif new and cuda is not None and not old and new != cuda:
        what = "is set, though to nothing" if not cuda else "is set as well"
        faults.append(NativeFault(NEW_NAME, new, f"has no effect: {CUDA_NAME} {what} and counts alone"))
    hip = environ.get(HIP_NAME)
    if hip and cuda is None and not old:
        problem = "is for ROCm, but on a CUDA build of PyTorch it still decides some keys and not others; unset it"
        faults.append(NativeFault(HIP_NAME, hip, problem))
    return faults


def _caching_faults(environ: Mapping[str, str], release: Release | None) -> list[NativeFault]:
    text = environ.get(NO_CACHING)
    if text is None or text == "1":
        return []
    if is_before(release, CACHING_BY_VALUE):
        problem = "switches the cache off whatever its value is (before PyTorch 2.7); remove it to keep the cache"
        return [NativeFault(NO_CACHING, text, problem)]
    if text in {"", "0"}:
        return []
    return [NativeFault(NO_CACHING, text, "has no effect: only the value 1 switches the cache off")]
