"""The driver, the runtime and NVML through ctypes, as far as the programs beside this file need them."""

from __future__ import annotations

import ctypes
from typing import Any

GIB = 1 << 30
OUT_OF_MEMORY = 2
# How NVML tells versions of a structure: its size, and the version in the highest byte.
MEMORY_2 = 40 | 2 << 24


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class _Memory2(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint),
        *((name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used")),
    ]


class Driver:
    """libcuda, with the first device's context current."""

    def __init__(self, device: int = 0) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        self.started = self.library.cuInit(0)
        if self.started == 0:
            context = ctypes.c_void_p()
            self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
            self.library.cuCtxSetCurrent(context)

    def allocate(self, size: int) -> tuple[int, int]:
        """Return the driver's answer and the address."""
        address = ctypes.c_uint64()
        answer = int(self.library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
        return answer, address.value

    def free(self, address: int) -> int:
        return int(self.library.cuMemFree_v2(ctypes.c_uint64(address)))

    def free_memory(self) -> int:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        return free.value

    def devices(self) -> list[dict[str, Any]]:
        """Return name, memory and bus of each device, in CUDA's order."""
        count = ctypes.c_int()
        self.library.cuDeviceGetCount(ctypes.byref(count))
        rows = []
        for device in range(count.value):
            name, bus, total = ctypes.create_string_buffer(96), ctypes.create_string_buffer(32), ctypes.c_size_t()
            self.library.cuDeviceGetName(name, 96, device)
            self.library.cuDeviceGetPCIBusId(bus, 32, device)
            self.library.cuDeviceTotalMem_v2(ctypes.byref(total), device)
            uuid = (ctypes.c_ubyte * 16)()
            self.library.cuDeviceGetUuid_v2(uuid, device)
            rows.append(
                {
                    "name": name.value.decode(),
                    "bus": bus.value.decode(),
                    "total": total.value,
                    "uuid": bytes(uuid).hex(),
                }
            )
        return rows


def nvml_devices() -> dict[str, Any]:
    """Return what NVML answers to its start and, for each device in bus order, to questions about memory."""
    library = ctypes.CDLL("libnvidia-ml.so.1")
    started = library.nvmlInit_v2()
    rows: list[dict[str, Any]] = []
    count = ctypes.c_uint()
    if started == 0:
        library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    for index in range(count.value):
        handle = ctypes.c_void_p()
        library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
        name, uuid = ctypes.create_string_buffer(96), ctypes.create_string_buffer(96)
        library.nvmlDeviceGetName(handle, name, 96)
        library.nvmlDeviceGetUUID(handle, uuid, 96)
        first, second = _Memory(), _Memory2(version=MEMORY_2)
        answer = library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(first))
        library.nvmlDeviceGetMemoryInfo_v2(handle, ctypes.byref(second))
        rows.append(
            {
                "name": name.value.decode(),
                "uuid": uuid.value.decode(),
                "answer": answer,
                "total": first.total,
                "used": first.used,
                "reserved": second.reserved,
                "used_v2": second.used,
                "free": first.free,
            }
        )
    return {"started": started, "devices": rows}
