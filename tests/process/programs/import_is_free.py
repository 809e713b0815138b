"""Import gpumem and tell what was loaded, opened and changed."""

import json
import os
import sys
import threading

before, environ, finders = set(sys.modules), dict(os.environ), list(sys.meta_path)
opened = []
sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
import gpumem  # noqa: E402

names = sorted(set(sys.modules) - before)
print(
    json.dumps(
        {
            "loaded": [name for name in names if not name.startswith("gpumem")],
            "toml": [name for name in opened if name.endswith(".toml")],
            "same": (dict(os.environ), sys.meta_path) == (environ, finders),
            "threads": threading.active_count(),
            "public": sorted(set(dir(gpumem)) ^ set(gpumem.__all__)),
        }
    )
)
