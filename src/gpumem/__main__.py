"""``python -m gpumem``: works even where another program owns the script name."""

from __future__ import annotations

import sys

from gpumem_core.cli.main import main

sys.exit(main())
