"""Configure before the import, after it, or after the start; import in one way or another; print what is in force."""

import json
import sys

from numbat_plugin import NumbatPlugin

import gpumem
from gpumem.plugin import register

when, how = sys.argv[1:]
register(NumbatPlugin())


def configure():
    gpumem.configure(cap="8GiB", devices={1: {"cap": "2GiB"}})


def import_it():
    if how == "import":
        import numbat

        return numbat
    if how == "from":
        from numbat import start

        return sys.modules[start.__module__]
    if how == "importlib":
        import importlib

        return importlib.import_module("numbat")
    return __import__("numbat")


error = None
if when == "before":
    configure()
module = import_it()
loader = type(module.__spec__.loader).__name__
if when == "after":
    configure()
module.start()
if when == "late":
    try:
        configure()
    except gpumem.LateInitialisationError as late:
        error = str(late)
print(
    json.dumps(
        {
            "limit": module.limit,
            "devices": {str(k): v for k, v in module.device_limits.items()},
            "error": error,
            "loader": loader,
            "same_loader": module.__loader__ is module.__spec__.loader,
            "ok": gpumem.verify(strict=when != "late").ok,
            "left": gpumem.reset(),
            "finders": [finder for finder in sys.meta_path if type(finder).__module__.startswith("gpumem")],
        }
    )
)
