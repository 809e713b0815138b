"""Started by Python itself: makes every installed framework but the invented one look as if it were not there."""

import importlib.machinery
import sys
from importlib.metadata import entry_points

HIDDEN = {point.name for point in entry_points(group="gpumem")} - {"wallaby"}


class Hide:
    """A finder that knows the hidden modules and has no spec for them."""

    def find_spec(self, name, path=None, _target=None):
        if name in HIDDEN and path is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return


sys.meta_path.insert(0, Hide())
importlib.machinery.PathFinder.invalidate_caches()
