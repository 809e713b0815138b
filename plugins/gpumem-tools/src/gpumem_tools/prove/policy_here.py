"""The policy that is to be proved: from flags, or as `gpumem.configure` would find it in this folder."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import pairwise

from gpumem_core import pipeline
from gpumem_core.cli.policy_flags import declared_flags, policy_table
from gpumem_core.model.report import Report, for_people


def policy_report(options: argparse.Namespace, environ: Mapping[str, str]) -> Report:
    """Return the dry run of the policy, which shows its faults before anything is tried.

    Raises:
        gpumem.PolicyError: the policy has faults.
        gpumem_core.cli.policy_flags.FlagError: a flag cannot be read.
    """
    return pipeline.explain_declared(declared_flags(options), environ)


def policy_variables(options: argparse.Namespace) -> dict[str, str]:
    """Return the flags as variables, which are as strong, for the processes of the trials."""
    return {f"GPUMEM_{'__'.join(path).upper()}": value for path, value in _leaves(policy_table(options), ())}


def _leaves(table: Mapping[str, object], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for key, value in table.items():
        # Dashes stand in keys of the command line, and in UUIDs, which variables write with underscores.
        here = (*path, key.replace("-", "_"))
        if isinstance(value, Mapping):
            yield from _leaves(value, here)
        else:
            yield here, str(value)


def in_words(report: Report) -> str:
    """Return the policy with where each part comes from."""
    return ", ".join(f"{key}={for_people(entry['value'])} ({entry['origin']})" for key, entry in report.policy.items())


def devices_needed(report: Report) -> int:
    """Return how many devices the policy names, at least one."""
    named = [int(part) for key in report.policy for part in _device_keys(key)]
    return max(named, default=0) + 1


def _device_keys(key: str) -> list[str]:
    parts = key.split(".")
    return [after for before, after in pairwise(parts) if before == "devices" and after.isdigit()]
