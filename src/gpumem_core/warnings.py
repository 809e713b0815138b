"""The warnings gpumem gives. Each has a stable code, which `ignore = ["GM204"]` silences."""

from __future__ import annotations

CODES: dict[str, str] = {
    "GM101": "a size below 64 MiB was read; it may be a mistake in the unit",
    "GM102": "a GPUMEM_ variable has an unknown name",
    "GM103": "a configuration file that was found cannot be read and is left out",
    "GM104": "a setting that the user made in the framework's own way is overruled by the policy",
    "GM105": "a variable of the framework holds a value that the framework cannot read or reads otherwise",
    "GM106": "the sum of what the frameworks take ahead is more than a device has",
    "GM107": "a configuration file has a table whose name is close to gpumem's own but not it",
    "GM108": "a part of the policy is for a device that this process does not see",
    "GM201": 'a setting came too late and was left out (on_late = "warn")',
    "GM202": "a framework cannot express a setting; it is left out",
    "GM203": "a deferred setting failed after the framework had started",
    "GM204": "a framework that is imported has no plugin for it installed",
    "GM205": "a plugin failed and is left out",
}
"""Every warning code with its meaning; `docs/reference/warnings.md` is made from it."""


class GpumemWarning(UserWarning):
    """Base of every warning of gpumem.

    Attributes:
        code: the stable code, a key of `CODES`.
    """

    __module__ = "gpumem"

    def __init__(self, code: str, message: str) -> None:
        """Make the warning; `code` must be a key of `CODES`."""
        if code not in CODES:
            message_ = f"unknown warning code {code}"
            raise KeyError(message_)
        self.code = code
        super().__init__(f"{code}: {message}")
