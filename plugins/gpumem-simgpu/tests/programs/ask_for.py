"""Ask for so many bytes each, keep all of it, and print each answer and what the device has left at the end."""

import json
import sys

from devices_by_ctypes import Driver

driver = Driver()
answers = [driver.allocate(int(size))[0] for size in sys.argv[1:]]
print(json.dumps([answers, driver.free_memory()]))
