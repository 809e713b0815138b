"""Take so many GiB, say so with what is free then, and keep it until the input ends."""

import sys

from devices_by_ctypes import GIB, Driver

driver = Driver()
answer, _ = driver.allocate(int(sys.argv[1]) * GIB)
print(answer, driver.free_memory() // GIB, flush=True)
sys.stdin.read()
