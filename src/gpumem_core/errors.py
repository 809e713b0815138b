"""The errors gpumem raises. They derive from `GpumemError` alone, so that no `except RuntimeError` eats them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpumem_core.model.fault import Fault
    from gpumem_core.model.late import LateStep
    from gpumem_core.model.plan import NotExpressed
    from gpumem_core.model.report import Row


class GpumemError(Exception):
    """Base of every error that gpumem raises."""

    __module__ = "gpumem"


class PolicyError(GpumemError, ValueError):
    """The declared policy has faults; the message lists every one of them with its origin.

    Attributes:
        faults: what is wrong, one record per fault.
    """

    __module__ = "gpumem"

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        """Keep the faults and make the message from them."""
        self.faults = faults
        count = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
        lines = [f"the GPU memory policy has {count}; nothing was changed:"]
        lines += [f"  - {fault}" for fault in faults]
        super().__init__("\n".join(lines))


class PolicyConflictError(GpumemError):
    """Two plans want the same environment variable with different values."""

    __module__ = "gpumem"


class LateInitialisationError(GpumemError):
    """Some settings would come too late to have an effect. Nothing was changed.

    Attributes:
        late: one record per setting that is too late.
    """

    __module__ = "gpumem"

    def __init__(self, late: tuple[LateStep, ...]) -> None:
        """Keep the late settings and make the message from them."""
        self.late = late
        count = "one setting comes" if len(late) == 1 else f"{len(late)} settings come"
        lines = [f"{count} too late to have an effect; nothing was changed:"]
        lines += [f"  - {step}" for step in late]
        # Several settings of one framework share the culprit and the cure: each is said once.
        lines += dict.fromkeys(f"  {step.framework}: {step.first}" for step in late if step.first)
        lines += dict.fromkeys(f"  what to do: {step.remedy}" for step in late)
        super().__init__("\n".join(lines))


class UnsupportedPolicyError(GpumemError):
    """A framework has no setting that can hold what the policy asks.

    Attributes:
        not_expressed: one record per field that cannot be held.
    """

    __module__ = "gpumem"

    def __init__(self, not_expressed: tuple[NotExpressed, ...]) -> None:
        """Keep the records and make the message from them."""
        self.not_expressed = not_expressed
        lines = ["the policy asks for what no setting can hold; nothing was changed:"]
        lines += [f"  - {item}" for item in not_expressed]
        lines.append(
            "  remove the setting, choose one that the framework has, or set on_unsupported to "
            '"warn" (go on without it, with a warning) or "ignore"'
        )
        super().__init__("\n".join(lines))


class DeviceQueryError(GpumemError):
    """The devices could not be listed, and the request cannot be answered without them."""

    __module__ = "gpumem"


class PluginError(GpumemError):
    """A plugin failed. The message names the plugin, its distribution and the hook."""

    __module__ = "gpumem"


class VerificationError(GpumemError):
    """`verify(strict=True)` found a setting that is not in force.

    Attributes:
        rows: the rows of the report that are not as they should be.
    """

    __module__ = "gpumem"

    def __init__(self, rows: tuple[Row, ...]) -> None:
        """Keep the rows and make the message from them."""
        self.rows = rows
        lines = ["the policy is not in force:"]
        lines += [f"  - {row.sentence()}" for row in rows]
        super().__init__("\n".join(lines))
