"""An invented framework whose fraction is fixed when it is imported."""

import os

fraction = float(os.environ.get("QUOKKA_FRACTION", "0"))
managed = os.environ.get("SHARED_MANAGED")
