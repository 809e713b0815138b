"""A framework that replaces itself in sys.modules: the plugin is given what the user sees."""

import json
import sys
from pathlib import Path

from numbat_plugin import NumbatPlugin

import gpumem
from gpumem.plugin import register

source = (Path(sys.modules["numbat_plugin"].__file__).parent / "numbat.py").read_text()
Path("numbat.py").write_text(
    source + "\nimport sys, types\nnew = types.ModuleType(__name__)\nnew.__dict__.update(globals())\n"
    "new.device_limits = {}\nnew.set_device_limit = new.device_limits.__setitem__\nsys.modules[__name__] = new\n"
)
sys.path.insert(0, ".")
register(NumbatPlugin())
gpumem.configure(devices={1: {"cap": "2GiB"}})
import numbat  # noqa: E402

print(json.dumps({str(k): v for k, v in numbat.device_limits.items()}))
