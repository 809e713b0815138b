"""Which plugins are installed, and which frameworks could have one. No framework is named here or imported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, requires
from typing import Final

GROUP: Final = "gpumem"
_OWN: Final = "gpumem-core"
# A requirement such as: gpumem-NAME>=0.1,<1; extra == "NAME"
_PLUGIN_EXTRA: Final = re.compile(r"gpumem-(?P<name>[A-Za-z0-9]+)\b[^;]*;\s*extra\s*==\s*['\"](?P=name)['\"]")


@dataclass(frozen=True, slots=True)
class Found:
    """An entry point of the group.

    Attributes:
        name: its name, which is the framework's.
        entry_point: the entry point itself.
        distribution: the name of the distribution, for messages.
        version: the version of the distribution.
    """

    name: str
    entry_point: EntryPoint
    distribution: str
    version: str


def installed_plugins() -> tuple[Found, ...]:
    """Return the entry points of the group, by name; nothing is imported."""
    found = [
        Found(
            point.name,
            point,
            point.dist.name if point.dist else "an unknown distribution",
            point.dist.version if point.dist else "?",
        )
        for point in entry_points(group=GROUP)
    ]
    # An editable install beside a wheel can list a plugin twice.
    unique = {(item.name, item.entry_point.value): item for item in found}
    return tuple(sorted(unique.values(), key=lambda item: item.name))


def candidate_frameworks() -> Mapping[str, str]:
    """Return the frameworks that gpumem has plugins for, with the distribution of each plugin.

    They are read from gpumem-core's own metadata: every extra that requires ``gpumem-<extra>``.
    """
    try:
        requirements = requires(_OWN) or []
    except PackageNotFoundError:  # a frozen application without metadata
        return {}
    matches = (_PLUGIN_EXTRA.match(requirement) for requirement in requirements)
    return {match["name"]: f"gpumem-{match['name']}" for match in matches if match}
