"""An import that fails is watched again, a submodule brings its package, and a reload tells nothing twice."""

import importlib
import json
import sys
from pathlib import Path

from numbat_plugin import NumbatPlugin

import gpumem
from gpumem.plugin import Framework, hookimpl, register

package = Path("wombat")
package.mkdir()
(package / "__init__.py").write_text(
    "import os\nif os.path.exists('fail'):\n    raise ImportError('broken')\nlimits = []\n"
)
(package / "part.py").write_text("from wombat import limits\n")
sys.path.insert(0, ".")


class Wombat(NumbatPlugin):
    @hookimpl
    def gpumem_framework(self):
        return Framework("wombat", "Wombat")

    @hookimpl
    def gpumem_plan(self, settings, budgets):
        from dataclasses import replace

        plan = super().gpumem_plan(settings, budgets)
        return replace(plan, framework="wombat", steps=tuple(s for s in plan.steps if s.device is not None))

    @hookimpl
    def gpumem_state(self):
        from gpumem.plugin import FrameworkState

        return FrameworkState()

    @hookimpl
    def gpumem_apply(self, call, module):
        module.limits.append(call.arguments["amount"])

    @hookimpl
    def gpumem_observe(self):
        return ()


register(Wombat())
gpumem.configure(devices={1: {"cap": "2GiB"}})
Path("fail").touch()
failures = []
for _ in range(2):
    try:
        importlib.import_module("wombat.part")
    except ImportError as error:
        failures.append(str(error))
Path("fail").unlink()
importlib.import_module("wombat.part")
first = list(sys.modules["wombat"].limits)
importlib.reload(sys.modules["wombat"])
print(json.dumps({"failures": failures, "first": first, "reloaded": sys.modules["wombat"].limits}))
