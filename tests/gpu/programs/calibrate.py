"""What the driver takes for itself: totals, the cost of a context, and how requests are rounded. Prints JSON, bytes.

Asks the driver and NVML by their C interface, so that no framework takes anything.
"""

import ctypes
import json
from typing import Any

import pynvml

MIB = 1 << 20
SIZES = (1, 512, MIB, MIB + 1, 2 * MIB, 2 * MIB + 1, 3 * MIB, 64 * MIB)

cuda = ctypes.CDLL("libcuda.so.1")
pynvml.nvmlInit()
card = pynvml.nvmlDeviceGetHandleByIndex(0)


def call(name: str, *arguments: object) -> None:
    code = getattr(cuda, name)(*arguments)
    if code:
        message = f"{name} answered {code}"
        raise OSError(message)


def used() -> int:
    return int(pynvml.nvmlDeviceGetMemoryInfo(card).used)


def free() -> int:
    left, total = ctypes.c_size_t(), ctypes.c_size_t()
    call("cuMemGetInfo_v2", ctypes.byref(left), ctypes.byref(total))
    return left.value


call("cuInit", 0)
device, context, total = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_size_t()
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
before = used()
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", context)
shown: dict[str, Any] = {
    "name": str(pynvml.nvmlDeviceGetName(card)),
    "driver": str(pynvml.nvmlSystemGetDriverVersion()),
}
shown |= {"cuda_total": total.value, "nvml_total": pynvml.nvmlDeviceGetMemoryInfo(card).total}
shown |= {"context": used() - before, "charged": {}}
for size in SIZES:
    pointer, left = ctypes.c_uint64(), free()
    call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
    shown["charged"][size] = left - free()
print(json.dumps(shown))
