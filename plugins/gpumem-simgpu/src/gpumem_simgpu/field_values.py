"""What the fields of a machine mean, one by one, and why a value cannot be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.faults import Fault, parse_fault
from gpumem_simgpu.profile_file import is_card_name
from gpumem_simgpu.sizes import GIB, parse_size
from gpumem_simgpu.suggestion import did_you_mean

Nvml = Literal["present", "missing", "mismatch", "no-permission", "unsupported", "no-sizes"]
NVML_MODES: tuple[str, ...] = get_args(Nvml)


def granularity(value: str | int | None) -> int | None:
    """Return the bytes that requests are rounded up to."""
    if value is None:
        return None
    size = parse_size(value, "granularity", smallest=1)
    if size != 1 and (size & (size - 1) or not 4096 <= size <= GIB):
        message = f'granularity: "{value}" is neither 1 (exactly what was asked) nor a power of two from 4KiB to 1GiB'
        raise SimulationError(message)
    return size


def order(given: object, count: int) -> tuple[int, ...]:
    """Return CUDA's order of so many devices as bus numbers; empty for bus order."""
    if given is None:
        return ()
    every = tuple(range(count))
    wanted: Sequence[object] = given if isinstance(given, Sequence) else (given,)
    numbers = tuple(one for one in wanted if isinstance(one, int) and one in every)
    if len(set(numbers)) != len(wanted):
        message = f"order: {given!r} is no order of {count} devices; name each bus number once, such as {every[::-1]}"
        raise SimulationError(message)
    return numbers


def names(given: Sequence[object] | None, count: int) -> tuple[str, ...]:
    """Return a name for each of so many devices; empty where none were given."""
    if given is None:
        return ()
    each = (given,) * count if isinstance(given, str) else tuple(given)
    if len(each) != count:
        message = f"names: {len(each)} names for {count} devices; write one for each"
        raise SimulationError(message)
    return tuple(_name(one) for one in each)


def _name(name: object) -> str:
    if not isinstance(name, str) or not is_card_name(name):
        message = f'names: {name!r} cannot be a name: it is no text, is empty, holds a comma, or begins like "2x"'
        raise SimulationError(message)
    return name


def nvml(mode: str) -> str:
    """Return how NVML behaves."""
    if mode not in NVML_MODES:
        message = f'nvml: "{mode}" is not one of {", ".join(NVML_MODES)}{did_you_mean(str(mode), NVML_MODES)}'
        raise SimulationError(message)
    return mode


def faults(given: Sequence[Fault | str] | Fault | str, count: int) -> tuple[str, ...]:
    """Return the faults as SIMGPU_FAULTS holds them."""
    each: list[object] = [given] if isinstance(given, Fault) else [*given]
    if isinstance(given, str):
        each = [one for one in given.split(",") if one.strip()]
    read = [parse_fault(one) if isinstance(one, str) else one for one in each]
    for fault in read:
        if not isinstance(fault, Fault):
            message = f'faults: {fault!r} is no fault; write RefuseRequest(3) or "alloc=3"'
            raise SimulationError(message)
        device = getattr(fault, "device", None)
        if device is not None and device >= count:
            message = f"faults: {fault} names device {device}, but the devices are 0 to {count - 1}"
            raise SimulationError(message)
    return tuple(str(fault) for fault in read)


def driver_version(version: str | int | None) -> int | None:
    """Return the driver's CUDA version as CUDA counts."""
    if version is None:
        return None
    match = re.fullmatch(r"(\d{2})\.(\d)", str(version))
    number = int(match[1]) * 1000 + int(match[2]) * 10 if match else version
    if isinstance(number, str) and number.isdecimal():
        number = int(number)
    if not isinstance(number, int) or not 11000 <= number < 20000 or number % 10:
        message = f'driver_version: {version!r} is no CUDA version; write "12.4", or 12040 as CUDA counts'
        raise SimulationError(message)
    return number
