"""Ask the driver for each of so many MiB, keep them, and print its answers."""

import ctypes
import sys

driver = ctypes.CDLL("libcuda.so.1")
device, context, pointer = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
assert driver.cuInit(0) == 0
assert driver.cuDeviceGet(ctypes.byref(device), 0) == 0
assert driver.cuCtxCreate_v2(ctypes.byref(context), 0, device) == 0
print(*(driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(int(size) << 20)) for size in sys.argv[1:]))
