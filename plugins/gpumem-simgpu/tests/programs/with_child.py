"""Take 10 GiB, then let a child of this process ask for 8 GiB of the same device."""

import subprocess
import sys
from pathlib import Path

from devices_by_ctypes import GIB, Driver

driver = Driver()
driver.allocate(10 * GIB)
child = Path(__file__).with_name("hold.py")
subprocess.run([sys.executable, str(child), "8"], stdin=subprocess.DEVNULL, check=True)
