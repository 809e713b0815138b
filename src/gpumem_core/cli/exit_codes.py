"""What the exit code of a command means; 0 is fine, and programs that are run keep their own."""

from __future__ import annotations

from typing import Final

EXIT_OURS: Final = 1
"""A failure of gpumem or of the machine."""

EXIT_USAGE: Final = 2
"""Wrong arguments, or a policy that cannot be."""

EXIT_FINDING: Final = 3
"""The command did its work, and something is not as it should be."""
