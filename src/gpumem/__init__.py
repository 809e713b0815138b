"""One GPU memory policy for every framework in the process.

>>> import gpumem
>>> report = gpumem.configure(cap="8GiB", growth=True)  # doctest: +SKIP

Importing this package does nothing and is quick: every name is loaded when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing costs more than the rest of this module; type checkers know the name

if TYPE_CHECKING:
    __version__: str
    from gpumem_core.api import (
        configure,
        configure_default,
        explain,
        is_configured,
        prefer,
        report,
        reset,
        verify,
    )
    from gpumem_core.errors import (
        DeviceQueryError,
        GpumemError,
        LateInitialisationError,
        PluginError,
        PolicyConflictError,
        PolicyError,
        UnsupportedPolicyError,
        VerificationError,
    )
    from gpumem_core.model.policy import DevicePolicy, FrameworkPolicy, Policy
    from gpumem_core.model.report import Report, Row
    from gpumem_core.warnings import GpumemWarning

_HOMES = {
    "gpumem_core.api": (
        "configure",
        "configure_default",
        "explain",
        "is_configured",
        "report",
        "reset",
        "verify",
    ),
    "gpumem_core.suggestions": ("prefer",),
    "gpumem_core.errors": (
        "DeviceQueryError",
        "GpumemError",
        "LateInitialisationError",
        "PluginError",
        "PolicyConflictError",
        "PolicyError",
        "UnsupportedPolicyError",
        "VerificationError",
    ),
    "gpumem_core.model.policy": ("DevicePolicy", "FrameworkPolicy", "Policy"),
    "gpumem_core.model.report": ("Report", "Row"),
    "gpumem_core.warnings": ("GpumemWarning",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "DevicePolicy",
    "DeviceQueryError",
    "FrameworkPolicy",
    "GpumemError",
    "GpumemWarning",
    "LateInitialisationError",
    "PluginError",
    "Policy",
    "PolicyConflictError",
    "PolicyError",
    "Report",
    "Row",
    "UnsupportedPolicyError",
    "VerificationError",
    "__version__",
    "configure",
    "configure_default",
    "explain",
    "is_configured",
    "prefer",
    "report",
    "reset",
    "verify",
]


if not TYPE_CHECKING:  # a type checker that saw it would accept every name

    def __getattr__(name: str) -> object:
        """Load a public name when it is first used."""
        if name == "__version__":
            from importlib.metadata import version

            return version("gpumem-core")
        home = _HOME_OF.get(name)
        if home is None:
            message = f"module 'gpumem' has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module

        value: object = getattr(import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
