"""What is in force in JAX, read back. Starts nothing and changes nothing.

Before a client exists, its options are read where JAX keeps them; then each device's allocator itself is asked
(`Device.memory_stats`, jaxlib/py_device.cc: ``bytes_limit``, and ``pool_bytes`` for what is held).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gpumem.plugin import Observation, cuda_state
from gpumem_jax import builds, variables
from gpumem_jax.fraction import DEFAULT_FRACTION, GRANULARITY, as_float32, in_force
from gpumem_jax.life import Life, look, lost
from gpumem_jax.state import STATE

_WAITS: Final = "JAX decides it at the first use of a device"
_OPTIONS_SOURCE: Final = "the options of JAX's GPU client"
_STATS_SOURCE: Final = "Device.memory_stats()"


def observe() -> tuple[Observation, ...]:
    """Return what is in force; nothing while JAX is not imported."""
    life = look()
    return () if life is None else observe_life(life)


def observe_life(life: Life) -> tuple[Observation, ...]:
    """Return what is in force in the given life of JAX."""
    if life.gpu_client is None and (life.clients or life.used_options is None):
        return tuple(_nothing_yet(life))
    devices = tuple(_Device.of(device) for device in life.gpu_client.local_devices()) if life.gpu_client else ()
    options = life.used_options or {}
    word = word_in_force(options)
    return (
        *_limits(life, options, word, devices),
        _preallocation(options, word, devices),
        Observation("allocator", None, word, _OPTIONS_SOURCE),
        _visible(life, devices),
        *_further(options),
    )


@dataclass(frozen=True, slots=True)
class _Device:
    """A device of the GPU client: its CUDA ordinal, and the statistics of its allocator where it has any."""

    ordinal: int
    statistics: Mapping[str, Any] | None
    problem: str = ""

    @classmethod
    def of(cls, device: Any) -> _Device:
        ordinal = getattr(device, "local_hardware_id", None)
        number = device.id if ordinal is None else ordinal
        try:
            return cls(int(number), device.memory_stats())
        except Exception as error:  # noqa: BLE001 - a runtime error of the backend; it is the reason that is reported
            return cls(int(number), None, f"{type(error).__name__}: {error}")

    def figure(self, name: str) -> int | None:
        value = (self.statistics or {}).get(name)
        return value if isinstance(value, int) else None


def _nothing_yet(life: Life) -> Iterator[Observation]:
    why = lost(life) if life.clients and not variables.excludes_gpus(life.platforms) else _WAITS
    for field in ("limit", "preallocate", "allocator"):
        yield Observation(field, None, None, _OPTIONS_SOURCE, why)
    hidden = variables.excludes_gpus(life.platforms)
    yield Observation("visible", None, "none" if hidden else None, "jax.config.jax_platforms", "" if hidden else why)


def word_in_force(options: Mapping[str, Any]) -> str:
    """Return the policy's word for the allocator in force."""
    native = str(options.get("allocator", "default"))
    word = variables.WORDS.get(native, native)
    if native == "platform" and builds.backend_version(builds.installed()) in builds.PLATFORM_IS_BFC:
        word = "pool"
    unified = os.environ.get(variables.UNIFIED, "").lower() in {"1", "true"}
    return "managed" if unified and word == "pool" else word


def _fraction(options: Mapping[str, Any], word: str) -> float:
    """Return the fraction that is a limit, 0 where there is none."""
    fraction = float(options.get("memory_fraction", DEFAULT_FRACTION))
    if word == "managed":
        return max(1.0, fraction)
    return fraction if word in variables.HOLDS_CAP else 0.0


def _limits(life: Life, options: Mapping[str, Any], word: str, devices: tuple[_Device, ...]) -> Iterator[Observation]:
    fraction = _fraction(options, word)
    totals = {device.ordinal: device.total for device in cuda_state().devices if device.total}
    source = _OPTIONS_SOURCE
    found = [_limit(device, fraction, word, totals.get(device.ordinal)) for device in devices]
    for device, limit in zip(devices, found, strict=True):
        total = totals.get(device.ordinal)
        if total and isinstance(limit.value, int) and limit.value and fraction:
            # The options can be changed after the start without any effect: the allocator knows better.
            if abs(in_force(total, fraction) - limit.value) > GRANULARITY:
                fraction, source = limit.value / total, f"{_STATS_SOURCE} and the driver's total"
            break
    if not STATE.limit_in_bytes:
        yield Observation("limit", None, fraction, source)
    elif life.gpu_client is None:
        yield Observation("limit", None, None, _STATS_SOURCE, _WAITS)
    else:
        # JAX gives each device the same share, so the largest limit shows whether all are within it.
        values = [item.value for item in found if isinstance(item.value, int)]
        why = "" if values else next((item.why for item in found), "JAX has no local device")
        held = max((item.held for item in found if item.held is not None), default=None)
        yield Observation("limit", None, max(values, default=None), _STATS_SOURCE, why, held)
    yield from found


def _limit(device: _Device, fraction: float, word: str, total: int | None) -> Observation:
    limit = device.figure("bytes_limit")
    if word == "async":
        # Under cuda_async this figure is the release threshold of the driver's pool, which limits nothing.
        limit = 0
    if limit is not None:
        held = device.figure("pool_bytes")
        held = device.figure("bytes_in_use") if held is None else held
        return Observation("limit", device.ordinal, limit, _STATS_SOURCE, held=held)
    if word == "vmm" and total is not None:
        # This allocator keeps no statistics; its budget is this product (CudaDeviceAddressVmmAllocator).
        value = int(total * as_float32(fraction))
        return Observation("limit", device.ordinal, value, f"{_OPTIONS_SOURCE} times the driver's total")
    if word == "direct":
        return Observation("limit", device.ordinal, 0, _OPTIONS_SOURCE)
    why = device.problem or f"JAX's allocator {word} reports no limit"
    return Observation("limit", device.ordinal, None, _STATS_SOURCE, why)


def _preallocation(options: Mapping[str, Any], word: str, devices: tuple[_Device, ...]) -> Observation:
    if word in {"vmm", "direct"}:
        return Observation("preallocate", None, False, f"JAX's allocator {word} takes nothing ahead")
    ahead = bool(options.get("preallocate", True))
    for device in devices:
        limit, pool = device.figure("bytes_limit") or 0, device.figure("pool_bytes") or 0
        if ahead and 0 < pool < limit - GRANULARITY:
            # XLA takes nine tenths and again nine tenths where the whole is refused (tsl/framework/bfc_allocator.cc).
            source = f"{_STATS_SOURCE} of device {device.ordinal}: the driver refused the whole limit of {limit} bytes"
            return Observation("preallocate", None, pool, source)
    return Observation("preallocate", None, ahead, _OPTIONS_SOURCE)


def _visible(life: Life, devices: tuple[_Device, ...]) -> Observation:
    if life.gpu_client is None:
        return Observation("visible", None, None, "jax.local_devices()", _WAITS)
    return Observation("visible", None, tuple(sorted(device.ordinal for device in devices)), "jax.local_devices()")


def _further(options: Mapping[str, Any]) -> Iterator[Observation]:
    size = options.get("collective_memory_size")
    if isinstance(size, int):
        yield Observation("options.collective_mem_size_mb", None, size >> 20, _OPTIONS_SOURCE)
    for name in ("abort_collectives_on_failure", "use_tfrt_gpu_client"):
        if name in options:
            yield Observation(f"options.{name}", None, bool(options[name]), _OPTIONS_SOURCE)
