"""Start CUDA, fork, and print what cuInit answers in the child and what NVML still says there."""

import json
import os

from devices_by_ctypes import Driver, nvml_devices

driver = Driver()
driver.allocate(1 << 30)
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    answer = [driver.library.cuInit(0), driver.allocate(1 << 20)[0], nvml_devices()["devices"][0]["used"]]
    os.write(writing, json.dumps(answer).encode())
    os._exit(0)
os.waitpid(child, 0)
print(os.read(reading, 4096).decode())
