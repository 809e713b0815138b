"""Whether a framework's version is among those that its plugin is tested with, by the plugin's own metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from typing import Final

# A requirement such as: NAME>=2.5.1,<2.15; extra == "framework"
_REQUIREMENT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*(?P<range>[^;]*);.*extra\s*==\s*['\"]framework\b"
)
_BOUND: Final = re.compile(r"(>=|<)\s*(\d+(?:\.\d+)*)")
_RELEASE: Final = re.compile(r"(?:\d+!)?(\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True)
class VersionRange:
    """The versions of one distribution that a plugin is tested with.

    Attributes:
        distribution: the framework's distribution.
        text: the range as its metadata has it, such as ``>=2.5.1,<2.15``.
    """

    distribution: str
    text: str

    def includes(self, version: str) -> bool | None:
        """Say whether a version lies within; None where the version or the range cannot be read.

        A range is read as plugins write it, lower bounds with ``>=`` and upper ones with ``<``. Only the release
        counts: ``2.15.0.dev1`` is outside of ``<2.15``, and what follows a plus sign is left out.

        Example:
            >>> tested = VersionRange("numbat", ">=1.2,<2")
            >>> tested.includes("1.10+cu124"), tested.includes("2.0a1")
            (True, False)
        """
        release = _RELEASE.match(version)
        bounds = [_BOUND.fullmatch(part.strip()) for part in self.text.split(",")]
        if release is None or not all(bounds):
            return None
        found = _numbers(release[1])
        return all(
            (found >= _numbers(bound[2])) if bound[1] == ">=" else (found < _numbers(bound[2]))
            for bound in bounds
            if bound
        )


def version_ranges(plugin: str) -> tuple[VersionRange, ...]:
    """Return the ranges that a plugin's distribution names in its extras ``framework...``; none where it has none."""
    try:
        requirements = requires(plugin) or []
    except PackageNotFoundError:  # registered by code, or a frozen application without metadata
        return ()
    return read_ranges(requirements)


def read_ranges(requirements: Iterable[str]) -> tuple[VersionRange, ...]:
    """Return the ranges among the requirements of a plugin's distribution."""
    matches = (_REQUIREMENT.match(requirement) for requirement in requirements)
    return tuple(VersionRange(_normal(match["name"]), match["range"].strip().strip("()")) for match in matches if match)


def untested(ranges: Iterable[VersionRange], versions: Mapping[str, str]) -> str:
    """Return the installed version that lies outside of its range, in words; empty where there is none.

    Args:
        ranges: the ranges of a plugin.
        versions: the framework's installed distributions with their versions.
    """
    installed = {_normal(name): (name, version) for name, version in versions.items()}
    for tested in ranges:
        if tested.distribution not in installed:
            continue
        name, version = installed[tested.distribution]
        if tested.includes(version) is False:
            return f"{name} {version} (tested: {tested.text})"
    return ""


def _numbers(release: str) -> tuple[int, ...]:
    """Return a release as numbers, without the zeros at its end: 2.0 and 2 are equal."""
    numbers = [int(part) for part in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
