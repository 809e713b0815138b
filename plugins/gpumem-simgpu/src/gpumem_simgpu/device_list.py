"""The devices of a machine, one after the other in bus order, from a text such as "2xT4, 16GiB"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpumem_simgpu.errors import SimulationError
from gpumem_simgpu.profile import Profile, find_profile, looks_like_a_file
from gpumem_simgpu.sizes import parse_size

MOST_DEVICES = 16
# A GPU with MIG on has seven compute slices and eight memory slices:
# https://docs.nvidia.com/datacenter/tesla/mig-user-guide/concepts.html
_COMPUTE_SLICES = 7
_MEMORY_SLICES = 8
_REPEATED = re.compile(r"(\d+)\s*[xX]\s*(\S.*)")


@dataclass(frozen=True)
class Device:
    """One device; what is None is left to the simulated driver's own default.

    Attributes:
        memory: bytes that CUDA reports.
        nvml_memory: bytes that NVML reports.
        context: bytes that each CUDA context takes.
        profile: the kind of card, where one was named.
        mig: "P:SLICE", such as "0:1g.5gb", for a slice of the physical GPU P; empty for a whole GPU.

    """

    memory: int
    nvml_memory: int
    context: int
    profile: Profile | None = None
    mig: str = ""


def parse_devices(text: object) -> tuple[Device, ...]:
    """Return the devices that ``SimulatedGpus(devices=text)`` means.

    Raises:
        SimulationError: the text names no device, too many, or one that does not exist.

    """
    if not isinstance(text, str):
        message = f'devices: {text!r} is not a text; write "2x16GiB" or "2xT4"'
        raise SimulationError(message)
    devices: list[Device] = []
    for count, word in repetitions(text, "devices"):
        devices += [_device(word)] * count
        require_few(len(devices), f'devices: "{text}"')
    if all(device.profile is None or not device.profile.mig_slice for device in devices):
        return tuple(devices)
    return tuple(_on_physical_gpus(devices))


def parse_sizes(text: object, where: str, count: int, *, zero: bool = False) -> tuple[int, ...]:
    """Return a size for each of ``count`` devices; a single one holds for all."""
    if not isinstance(text, str):
        message = f'{where}: {text!r} is not a text; write "{text}GiB" or "{text}MiB"'
        raise SimulationError(message)
    sizes: list[int] = []
    for number, word in repetitions(text, where):
        sizes += [parse_size(word, where, zero=zero)] * number
        require_few(len(sizes), f'{where}: "{text}"')
    if len(sizes) == 1:
        return tuple(sizes * count)
    if len(sizes) != count:
        message = (
            f'{where}: "{text}" is {len(sizes)} sizes, but there are {count} devices; write one for each or one for all'
        )
        raise SimulationError(message)
    return tuple(sizes)


def repetitions(text: str, where: str) -> list[tuple[int, str]]:
    """Return how often each word of a list stands for: "2x16GiB, 8GiB" is (2, "16GiB"), (1, "8GiB")."""
    found = []
    for part in text.split(","):
        word = part.strip()
        match = _REPEATED.fullmatch(word)
        count, named = (int(match[1]), match[2]) if match else (1, word)
        if not named or count < 1:
            message = f'{where}: "{text}" holds a part that names nothing; write "16GiB", "2x16GiB" or "8GiB,16GiB"'
            raise SimulationError(message)
        require_few(count, f'{where}: "{word}"')
        found.append((count, named))
    return found


def require_few(count: int, what: str) -> None:
    """Raise when there are more devices than the simulated driver knows."""
    if count > MOST_DEVICES:
        message = f"{what} is {count} devices; a simulated machine has at most {MOST_DEVICES}"
        raise SimulationError(message)


def _device(word: str) -> Device:
    if word[0] in "0123456789.-+" and not looks_like_a_file(word):
        memory = parse_size(word, "devices")
        return Device(memory, memory, 0)
    profile = find_profile(word, "devices")
    return Device(profile.memory, profile.nvml_memory, profile.context, profile)


def _on_physical_gpus(devices: Sequence[Device]) -> list[Device]:
    """Put slices that follow each other on one physical GPU as long as they fit on it."""
    placed: list[Device] = []
    physical = -1
    compute = memory = 0
    card = ""
    for device in devices:
        profile = device.profile
        if profile is None or not profile.mig_slice:
            physical, card = physical + 1, ""
            placed.append(device)
            continue
        compute += profile.mig_compute_slices
        memory += profile.mig_memory_slices
        if profile.card != card or compute > _COMPUTE_SLICES or memory > _MEMORY_SLICES:
            physical, card = physical + 1, profile.card
            compute, memory = profile.mig_compute_slices, profile.mig_memory_slices
        placed.append(replace(device, mig=f"{physical}:{profile.mig_slice}"))
    return placed
