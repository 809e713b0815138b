"""Print what CUDA and NVML say about the devices."""

import json

from devices_by_ctypes import Driver, nvml_devices

driver = Driver()
print(json.dumps({"started": driver.started, "cuda": driver.devices(), "nvml": nvml_devices()}))
