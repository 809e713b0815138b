"""An invented framework. It reads its allocator when it is imported and its limit when it is first used."""

import os

allocator = os.environ.get("NUMBAT_ALLOCATOR", "pool")
started = False
limit = None
growth = None
visible = None
device_limits = {}


def start():
    """Read the variables once, as a real framework does at first use."""
    global started, limit, growth, visible
    if not started:
        started = True
        limit = int(os.environ.get("NUMBAT_LIMIT", "0"))
        growth = os.environ.get("NUMBAT_GROWTH")
        visible = os.environ.get("NUMBAT_VISIBLE")


def set_device_limit(device, amount):
    """Limit one device; possible at any time."""
    device_limits[device] = amount
