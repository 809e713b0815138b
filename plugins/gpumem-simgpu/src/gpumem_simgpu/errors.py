"""What can go wrong before a program runs on the simulated devices."""

from __future__ import annotations


class SimulationError(Exception):
    """The simulated devices cannot be built or used; the message says what to do."""
