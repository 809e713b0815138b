"""A `Progress` that writes down what a plugin tells it."""

from __future__ import annotations

from gpumem_core.model.device import Devices


class RecordedProgress:
    """Stands for the core in tests of `gpumem_apply`.

    Args:
        devices: what `devices()` answers.

    Attributes:
        told: pairs of what was told (``pending``, ``done``, ``failed``) and the text, in order.
    """

    def __init__(self, devices: Devices | None = None) -> None:
        """Start with nothing told."""
        self.told: list[tuple[str, str]] = []
        self._devices = devices or Devices()

    def pending(self, until: str) -> None:
        """Write it down."""
        self.told.append(("pending", until))

    def done(self, note: str = "") -> None:
        """Write it down."""
        self.told.append(("done", note))

    def failed(self, error: BaseException | str) -> None:
        """Write it down."""
        self.told.append(("failed", str(error)))

    def devices(self) -> Devices:
        """Return the devices given at the start."""
        return self._devices
