"""Where results are written besides the terminal: the flags ``--json`` and ``--html``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path


class OutputError(Exception):
    """A file cannot be written; the message says which and why."""


def add_output_flags(parser: argparse.ArgumentParser, *, html: bool = True) -> None:
    """Add the flags."""
    parser.add_argument("--json", metavar="FILE", help="write the numbers as JSON, amounts in bytes; - is stdout")
    if html:
        parser.add_argument("--html", metavar="FILE", help="write one self-contained page with a picture")


def check_outputs(options: argparse.Namespace) -> None:
    """Refuse what cannot be written, before anything runs for it.

    Raises:
        OutputError: naming the flag and the reason.
    """
    for flag in ("json", "html"):
        value = getattr(options, flag, None)
        if value is None or (flag == "json" and value == "-"):
            continue
        path = Path(value)
        if not value or path.is_dir():
            message = f"--{flag} {value}: this is a folder, name a file" if value else f"--{flag}: name a file"
            raise OutputError(message)
        if not path.absolute().parent.is_dir():
            message = f"--{flag} {value}: the folder {path.absolute().parent} does not exist"
            raise OutputError(message)
        if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
            message = f"--{flag} {value}: this may not be written"
            raise OutputError(message)


def write_outputs(options: argparse.Namespace, data: Mapping[str, object], page: str = "") -> None:
    """Write what the flags ask for.

    Raises:
        OutputError: a file cannot be written.
    """
    if options.json == "-":
        sys.stdout.write(json.dumps(data, indent=2) + "\n")
        sys.stdout.flush()
    for value, text in ((options.json, json.dumps(data, indent=2) + "\n"), (getattr(options, "html", None), page)):
        if value and value != "-":
            try:
                Path(value).write_text(text, encoding="utf-8")
            except OSError as error:
                message = f"{value} cannot be written: {error.strerror or error}"
                raise OutputError(message) from error
