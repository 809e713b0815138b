"""Configure where the working directory is gone, the home is unknown or a file cannot be read."""

import json
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import gpumem

what = sys.argv[1]
gpumem.explain()  # everything is imported by now, whatever cannot be read afterwards
folder = Path(tempfile.mkdtemp())
os.chdir(folder)
if what == "deleted":
    shutil.rmtree(folder)
elif what == "unreadable":
    (folder / "pyproject.toml").write_text("[tool.gpumem]\n")
    (folder / "pyproject.toml").chmod(0)
    folder.chmod(0o755)
elif what == "no entry":
    (folder / "inner").mkdir()
    (folder / "pyproject.toml").write_text("[tool.gpumem]\n")
    os.chdir(folder / "inner")
    folder.chmod(0o000)
    (folder / "inner").chmod(0o000)
if what != "deleted" and os.geteuid() == 0:
    os.seteuid(65534)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    gpumem.configure(cap="8GiB")
if os.getuid() == 0:
    os.seteuid(0)
for path in (folder, folder / "inner"):
    if path.exists():
        path.chmod(0o700)
shutil.rmtree(folder, ignore_errors=True)
print(json.dumps({"codes": [w.message.code for w in caught], "cap": gpumem.report().policy["cap"]["value"]}))
