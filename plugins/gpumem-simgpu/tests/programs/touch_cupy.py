"""Take 1 GiB of the second device."""

import cupy

with cupy.cuda.Device(1):
    kept = cupy.empty(1 << 30, "u1")
print(cupy.cuda.runtime.getDeviceCount())
