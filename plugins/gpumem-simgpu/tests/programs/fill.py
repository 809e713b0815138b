"""Take the whole device, ask for one byte more, give it back, and ask for that byte again."""

import json

from devices_by_ctypes import GIB, Driver

driver = Driver()
whole, address = driver.allocate(16 * GIB)
one_more, _ = driver.allocate(1)
driver.free(address)
after, _ = driver.allocate(1)
print(json.dumps([whole, one_more, after]))
