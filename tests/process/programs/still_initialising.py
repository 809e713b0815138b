"""One thread is in the middle of the import while another configures; the call is made after the import."""

import json
import sys
import threading
from pathlib import Path

from numbat_plugin import NumbatPlugin

import gpumem
from gpumem.plugin import register

source = (Path(sys.modules["numbat_plugin"].__file__).parent / "numbat.py").read_text()
Path("numbat.py").write_text("import handshake\nhandshake.inside.set()\nhandshake.go_on.wait(20)\n" + source)
Path("handshake.py").write_text("import threading\ninside = threading.Event()\ngo_on = threading.Event()\n")
sys.path.insert(0, ".")
import handshake  # noqa: E402

register(NumbatPlugin())
thread = threading.Thread(target=__import__, args=("numbat",))
thread.start()
handshake.inside.wait(20)
gpumem.configure(cap="8GiB", devices={1: {"cap": "2GiB"}})
during = [row.state for row in gpumem.report().rows_of("numbat")]
handshake.go_on.set()
thread.join(20)
Path("anything.py").write_text("")
import anything  # noqa: E402, F401
import numbat  # noqa: E402

print(json.dumps({"during": during, "devices": list(numbat.device_limits.items())}))
