"""Call every function that stands on the input, without arguments, and check what it answers."""

from __future__ import annotations

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
expected = int(sys.argv[2])
wrong = {name: answer for name in sys.stdin.read().split() if (answer := getattr(library, name)()) != expected}
if wrong:
    sys.exit(f"not {expected}: {wrong}")
