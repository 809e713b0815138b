"""Let a library of somebody else ask for memory, through the driver and through the runtime."""

import ctypes
import sys

from devices_by_ctypes import Driver

driver = Driver()
library = ctypes.CDLL(sys.argv[1])
print(library.ask_driver(ctypes.c_size_t(1 << 20)), library.ask_runtime(ctypes.c_size_t(2 << 20)))
