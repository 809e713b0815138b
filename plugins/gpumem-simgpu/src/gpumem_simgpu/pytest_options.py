"""Which options of a test run reach the process of a marked test, and how."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

# Options that choose tests, write files, distribute, repeat or stop: they are this run's own affair.
_OF_THIS_RUN = frozenset(
    {
        *("file_or_dir", "keyword", "markexpr", "deselect", "ignore", "ignore_glob", "pyargs", "keepduplicates"),
        *("lf", "failedfirst", "newfirst", "last_failed_no_failures", "stepwise", "stepwise_skip", "stepwise_reset"),
        *("collectonly", "maxfail", "usepdb", "usepdb_cls", "trace", "setupshow", "setuponly", "setupplan"),
        *("cacheshow", "cacheclear", "showfixtures", "show_fixtures_per_test", "version", "help", "markers"),
        *("traceconfig", "debug", "pastebin", "xmlpath", "junitprefix", "log_file", "log_file_mode"),
        *("basetemp", "capture", "simulated_here"),
        # Plugins that many have: pytest-xdist, -html, -reportlog, -json-report, -md, allure, -benchmark.
        *("numprocesses", "maxprocesses", "dist", "tx", "px", "distload", "rsyncdir", "rsyncignore", "looponfail"),
        *("testrunuid", "loadscopereorder", "htmlpath", "self_contained_html", "css", "report_log", "json_report"),
        *("json_report_file", "allure_report_dir", "md_report", "benchmark_json", "benchmark_save"),
        "benchmark_autosave",
    }
)
# These are read before a plugin could hand them over, so they stand on the command line.
_EARLY = frozenset({"plugins", "override_ini", "inifilename", "rootdir", "confcutdir", "importmode", "noconftest"})
_EARLY |= {"pythonwarnings", "assertmode"}


def values_to_hand_over(config: pytest.Config) -> dict[str, object]:
    """Return the options of plugins and conftest files, and pytest's own, that shape how a test runs."""
    chosen = {}
    for name, value in vars(config.option).items():
        if name in _OF_THIS_RUN or name in _EARLY or name.startswith("cov"):
            continue
        try:
            chosen[name] = json.loads(json.dumps(value))
        except (TypeError, ValueError):
            # Objects that only this process has.
            continue
    return chosen


def command_line(item: pytest.Item, folder: Path) -> list[str]:
    """Return the command that runs this one test."""
    config = item.config
    option = config.option
    argv = [sys.executable, *_without_current_folder(config), "-m", "pytest", _place(item)]
    argv += ["--simulated-here", "-p", "gpumem_simgpu.pytest_inside", f"--simulated-reports={folder}"]
    argv += [f"--rootdir={config.rootpath}", "-c", str(config.inipath or _empty_configuration(folder))]
    # There is no terminal to report to; without the plugin nothing but the test itself writes there.
    argv += ["-p", "no:terminal"]
    for plugin in getattr(option, "plugins", None) or ():
        if plugin not in ("no:terminal", "gpumem_simgpu.pytest_inside"):
            argv += ["-p", plugin]
    for setting in getattr(option, "override_ini", None) or ():
        argv += ["-o", setting]
    # What addopts says has become options of this run, and reaches that process as such.
    argv += ["-o", "addopts="]
    if config.pluginmanager.hasplugin("cacheprovider"):
        argv += ["-o", f"cache_dir={folder / 'cache'}"]
    for warning in getattr(option, "pythonwarnings", None) or ():
        argv += ["-W", warning]
    if getattr(option, "confcutdir", None):
        argv.append(f"--confcutdir={option.confcutdir}")
    if getattr(option, "importmode", None):
        argv.append(f"--import-mode={option.importmode}")
    if getattr(option, "assertmode", None):
        argv.append(f"--assert={option.assertmode}")
    if getattr(option, "noconftest", False):
        argv.append("--noconftest")
    if getattr(option, "basetemp", None):
        argv.append(f"--basetemp={_temporary_folder(Path(option.basetemp))}")
    capture = getattr(option, "capture", "fd")
    return [*argv, f"--capture={'sys' if capture == 'tee-sys' else capture}"]


def _place(item: pytest.Item) -> str:
    """Return the path and the names that lead to this test; its node id may have been decorated."""
    names = [node.name for node in item.listchain() if isinstance(node, (pytest.Class, pytest.Item))]
    return "::".join([str(item.path), *names])


def _without_current_folder(config: pytest.Config) -> list[str]:
    """Keep "python -m" from adding the current folder to the search path where this run does without it."""
    here = str(config.invocation_params.dir)
    return [] if {"", here} & set(sys.path) else ["-P"]


def _empty_configuration(folder: Path) -> Path:
    """Return a file for a run without one, so that none is found nearer to the test."""
    file = folder / "pytest.ini"
    file.write_text("[pytest]\n", encoding="utf-8")
    return file


def _temporary_folder(base: Path) -> Path:
    """Return a new folder below the one that this run was told to use."""
    own = base / "simulated"
    own.mkdir(parents=True, exist_ok=True)
    number = 0
    while (own / str(number)).exists():
        number += 1
    return own / str(number)
