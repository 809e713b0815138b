"""Which devices this process has: declared, from the driver of this process, or from NVML. Starts nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from gpumem_core.devices.assumed import VARIABLE, parse_assumed
from gpumem_core.devices.cuda_state import cuda_state
from gpumem_core.devices.nvml import NvmlDevice, read_nvml
from gpumem_core.devices.visible_devices import VisibleDevices, match_uuid, parse_visible_devices
from gpumem_core.model.device import Device, Devices

# Device nodes of the driver: discrete cards, Windows Subsystem for Linux, Jetson.
_NODES: Final = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvmap", "/dev/nvhost-ctrl")


def driver_present() -> bool | None:
    """Return whether this machine has an NVIDIA driver, None where looking does not tell."""
    if cuda_state().status != "not loaded":
        return True
    if any(Path(node).exists() for node in _NODES):
        return True
    return False if os.name == "posix" else None


def known_devices(environ: Mapping[str, str]) -> Devices:
    """Return the devices as far as they are known without opening NVML."""
    if environ.get(VARIABLE, "").strip():
        return parse_assumed(environ[VARIABLE])
    cuda = cuda_state()
    if cuda.initialised:
        return Devices(cuda.devices, complete=True, source="cuda", driver=True)
    driver = driver_present()
    return Devices(
        driver=driver, why="no NVIDIA driver was found" if driver is False else "the devices were not asked for"
    )


def probe_devices(environ: Mapping[str, str], *, free: bool = False) -> Devices:
    """Return the devices with their totals, opening NVML if nothing better is at hand.

    Args:
        environ: the environment.
        free: whether it matters how much is free. The driver tells that of the current device only, NVML of all.
    """
    known = known_devices(environ)
    if known.source == "cuda" and free:
        return _with_free(known)
    if known.source != "unknown" or known.driver is False:
        return known
    visible = parse_visible_devices(environ.get("CUDA_VISIBLE_DEVICES"))
    reading = read_nvml(visible.uuids or ())
    if not reading.devices:
        # A missing NVML proves nothing where the driver itself was seen (a container without the utility capability).
        driver = reading.driver if known.driver is None else known.driver
        return Devices(driver=driver, why=reading.why or "NVML lists no device")
    cards = [device for device in reading.devices if device.index >= 0]
    return _ordinals(visible, cards, reading.devices, environ.get("CUDA_DEVICE_ORDER", ""), reading.why)


def _with_free(known: Devices) -> Devices:
    """Add what NVML says is free to the driver's devices, matched by UUID."""
    reading = read_nvml(())
    by_uuid = {card.uuid: card.free for card in reading.devices if card.uuid}
    found = tuple(replace(device, free=by_uuid.get(device.uuid or "")) for device in known.found)
    return replace(known, found=found, why=reading.why)


def _ordinals(
    visible: VisibleDevices, cards: Sequence[NvmlDevice], everything: Sequence[NvmlDevice], order: str, why: str
) -> Devices:
    """Match the driver's ordinals to NVML's devices."""
    if visible.uuids is not None:
        return _by_uuid(visible.uuids, everything, why)
    count = len(cards)
    listed = tuple(range(count)) if visible.everything else _valid(visible.ordinals or (), count)
    equal = len({(card.name, card.total) for card in cards}) == 1
    if equal or order == "PCI_BUS_ID":
        # Equal cards have the same totals whatever the order; their UUIDs are certain only in the order of the bus.
        certain = order == "PCI_BUS_ID" or count == 1
        found = tuple(_device(ordinal, cards[index], certain, cards) for ordinal, index in enumerate(listed))
        return Devices(found, complete=True, source="nvml", driver=True, why=why)
    totals = [card.total for card in cards]
    smallest = None if None in totals else min(total for total in totals if total is not None)
    found = tuple(Device(ordinal, total=smallest) for ordinal in range(len(listed)))
    ambiguous = (
        "the cards differ and CUDA_DEVICE_ORDER is not PCI_BUS_ID, so before CUDA runs it is uncertain which card an "
        "ordinal means; every limit is calculated so that it holds on each of them"
    )
    largest = None if smallest is None else max(total for total in totals if total is not None)
    return Devices(found, complete=True, source="nvml", driver=True, ambiguous=ambiguous, why=why, largest_card=largest)


def _valid(listed: Sequence[int], count: int) -> tuple[int, ...]:
    """Return the listed numbers up to the first one that no card has, as the driver does."""
    valid: list[int] = []
    for index in listed:
        if index >= count:
            break
        valid.append(index)
    return tuple(valid)


def _by_uuid(prefixes: Sequence[str], devices: Sequence[NvmlDevice], why: str) -> Devices:
    by_uuid = {device.uuid: device for device in devices if device.uuid}
    found: list[Device] = []
    for prefix in prefixes:
        matches = match_uuid(prefix, tuple(by_uuid))
        if len(matches) != 1:
            break
        found.append(_device(len(found), by_uuid[matches[0]], True, ()))
        if matches[0].startswith("MIG-"):
            if len(prefixes) > 1:
                why = "; ".join(filter(None, (why, "CUDA uses the first MIG instance of CUDA_VISIBLE_DEVICES only")))
            break
    return Devices(tuple(found), complete=True, source="nvml", driver=True, why=why)


def _device(ordinal: int, card: NvmlDevice, certain: bool, cards: Sequence[NvmlDevice]) -> Device:
    if certain:
        return Device(ordinal, card.uuid, card.name, card.total, card.free)
    # Any of the equal cards may be meant: what the fullest of them has free is safe for all.
    free = [other.free for other in cards]
    return Device(ordinal, None, card.name, card.total, None if None in free else min(f for f in free if f is not None))
