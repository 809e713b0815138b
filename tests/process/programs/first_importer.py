"""A module of the user's imports the framework and starts it; the error names that module."""

import sys

from numbat_plugin import NumbatPlugin

import gpumem
from gpumem.plugin import register

register(NumbatPlugin())
sys.path.insert(0, ".")
import my_model  # noqa: E402

my_model.numbat.start()
try:
    gpumem.configure(cap="8GiB")
except gpumem.LateInitialisationError as error:
    print(str(error).replace("\n", " "))
