"""Installed versions, read from metadata without importing anything."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version


def installed_versions(distributions: Iterable[str]) -> dict[str, str]:
    """Return the versions of those of `distributions` that are installed.

    Example:
        >>> sorted(installed_versions(["pluggy", "no-such-distribution"]))
        ['pluggy']
    """
    found: dict[str, str] = {}
    for name in distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
