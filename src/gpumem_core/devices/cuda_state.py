"""Whether CUDA runs in this process, and what its driver says then; never starts it.

The ladder: is the driver's library mapped already? If so, does its device count answer "not initialised"
(error 3, as cuda.h documents for every call before cuInit)? Only an initialised driver is asked for totals,
UUIDs and which primary contexts exist; none of these calls makes a context.
"""

from __future__ import annotations

import ctypes
import os
import sys
import uuid
from dataclasses import dataclass
from typing import Literal

from gpumem_core.model.device import Device

_NOT_INITIALISED = 3


@dataclass(frozen=True, slots=True)
class CudaState:
    """The state of CUDA in this process.

    Attributes:
        status: ``not loaded``, ``not initialised``, ``initialised``, or ``error`` with the number in `code`.
        devices: with CUDA initialised, the devices with the driver's own totals.
        contexts: with CUDA initialised, the ordinals that have a primary context.
        code: the driver's error number for ``error``, else 0.
    """

    status: Literal["not loaded", "not initialised", "initialised", "error"]
    devices: tuple[Device, ...] = ()
    contexts: frozenset[int] = frozenset()
    code: int = 0

    @property
    def initialised(self) -> bool:
        """Whether cuInit has run in this process."""
        return self.status == "initialised"


def _mapped_driver() -> ctypes.CDLL | None:
    """Return the driver's library if this process has it mapped already."""
    try:
        if sys.platform == "win32":
            handle = ctypes.windll.kernel32.GetModuleHandleW("nvcuda.dll")
            return ctypes.WinDLL("nvcuda.dll", handle=handle) if handle else None
        return ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except (OSError, AttributeError):  # not mapped; or a platform without RTLD_NOLOAD
        return None


def cuda_state() -> CudaState:
    """Return the state of CUDA in this process. Loads nothing and initialises nothing.

    Example:
        >>> cuda_state().status in {"not loaded", "not initialised", "initialised", "error"}
        True
    """
    driver = _mapped_driver()
    if driver is None:
        return CudaState("not loaded")
    count = ctypes.c_int()
    code = int(driver.cuDeviceGetCount(ctypes.byref(count)))
    if code == _NOT_INITIALISED:
        return CudaState("not initialised")
    if code:
        return CudaState("error", code=code)
    devices = []
    contexts = set()
    for ordinal in range(count.value):
        handle, flags, active = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
        if driver.cuDeviceGet(ctypes.byref(handle), ordinal):
            devices.append(Device(ordinal))
            continue
        driver.cuDevicePrimaryCtxGetState(handle, ctypes.byref(flags), ctypes.byref(active))
        if active.value:
            contexts.add(ordinal)
        # The names without a suffix are older functions with other arguments (cuda.h redirects them).
        total = ctypes.c_size_t()
        failed = driver.cuDeviceTotalMem_v2(ctypes.byref(total), handle)
        devices.append(
            Device(
                ordinal, uuid=_uuid(driver, handle), name=_name(driver, handle), total=None if failed else total.value
            )
        )
    return CudaState("initialised", tuple(devices), frozenset(contexts))


def _uuid(driver: ctypes.CDLL, handle: ctypes.c_int) -> str | None:
    raw = ctypes.create_string_buffer(16)
    ask = getattr(driver, "cuDeviceGetUuid_v2", None) or driver.cuDeviceGetUuid
    return None if ask(raw, handle) else f"GPU-{uuid.UUID(bytes=raw.raw)}"


def _name(driver: ctypes.CDLL, handle: ctypes.c_int) -> str | None:
    raw = ctypes.create_string_buffer(128)
    return None if driver.cuDeviceGetName(raw, len(raw), handle) else raw.value.decode(errors="replace")
