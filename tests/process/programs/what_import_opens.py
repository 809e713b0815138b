"""Print every file that is opened while gpumem is imported; with the argument `configure` while it configures."""

import json
import sys

opened: list[str] = []
watching = False


def note(event: str, arguments: tuple[object, ...]) -> None:
    if watching and event == "open":
        opened.append(str(arguments[0]))


sys.addaudithook(note)
watching = True
import gpumem  # noqa: E402

if sys.argv[1:] == ["configure"]:
    gpumem.configure()
watching = False
print(json.dumps(opened))
