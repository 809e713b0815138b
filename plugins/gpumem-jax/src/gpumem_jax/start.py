"""What is done when JAX discovers its backends: the last moment before it makes a GPU client."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from typing import Any

from gpumem.plugin import Devices, cuda_state
from gpumem_jax.client_options import put
from gpumem_jax.fraction import as_text, largest_fraction
from gpumem_jax.life import look
from gpumem_jax.state import Intention
from gpumem_jax.variables import excludes_gpus


class UnknownTotalError(RuntimeError):
    """A limit cannot be calculated, because the driver does not tell the total of a device."""


def put_in_force(intention: Intention) -> None:
    """Calculate the options of an intention and put them in force.

    Raises:
        UnknownTotalError: when a limit needs a total that nobody tells.
        RuntimeError: when it is too late, or this JAX is not known.
    """
    intention.fired = True
    if not _uses_nvidia_gpu():
        intention.progress.done("JAX starts without an NVIDIA GPU: there is nothing to limit")
        return
    if intention.arguments["limits"]:
        _run_driver()
    options, note = options_of(intention.arguments, intention.progress.devices())
    notes = [text for text in (note, *changed_since(intention.arguments)) if text]
    intention.undo = put(options, intention.progress, "; ".join(notes))


def options_of(arguments: Mapping[str, Any], devices: Devices) -> tuple[dict[str, Any], str]:
    """Return the options of the client, with the fraction from the driver's totals, and a note on it. Pure.

    Args:
        arguments: the call's arguments.
        devices: the devices as known now.
    """
    options = dict(arguments["options"])
    limits = arguments["limits"]
    if not limits:
        return options, ""
    planned = options.get("memory_fraction")
    visible = arguments["visible"]
    seen = [device for device in devices.found if visible is None or device.ordinal in visible]
    limited = {
        device.ordinal: (limit, device.total)
        for device in seen
        if (limit := limits.get(str(device.ordinal), limits.get("others"))) is not None
    }
    totals = [total for _limit, total in limited.values()]
    if devices.source != "cuda" or None in totals:
        if planned is None:
            message = f"the driver tells no totals ({devices.why or 'CUDA is not initialised'})"
            raise UnknownTotalError(message)
        return options, "the driver tells no totals: the fraction from the totals known before stays"
    if not limited:
        options.pop("memory_fraction", None)
        return options, "no device that JAX sees has a limit"
    fraction = min(_device_fraction(limit, int(total)) for limit, total in limited.values() if total is not None)
    if fraction <= 0:
        message = "the limit is below 2 MiB on a device, which JAX cannot keep"
        raise UnknownTotalError(message)
    options["memory_fraction"] = fraction if arguments["above_one"] else min(fraction, 1.0)
    return options, f"memory_fraction={as_text(options['memory_fraction'])} from the driver's own totals"


def _device_fraction(limit: Mapping[str, Any], total: int) -> float:
    amounts = [int(share * total) + amount if share else int(amount) for share, amount in limit["bounds"]]
    if limit["most"] is not None:
        amounts.append(limit["most"])
    return largest_fraction(min(amounts), total)


def changed_since(arguments: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each variable that somebody changed after gpumem set it; its option is set again."""
    return [
        f"{name} was set to {value!r} and is {os.environ.get(name)!r} now; the policy was put in force all the same"
        for name, value in arguments["written"].items()
        if os.environ.get(name) != value
    ]


def _uses_nvidia_gpu() -> bool:
    """Return whether JAX is about to make a client for an NVIDIA GPU, by its own test for one."""
    life = look()
    if life is None or excludes_gpus(life.platforms):
        return False
    hardware = sys.modules.get("jax._src.hardware_utils")
    test = getattr(hardware, "has_visible_nvidia_gpu", None)  # looks for device nodes, since 0.4.31
    return bool(test()) if callable(test) else True


def _run_driver() -> None:
    """Initialise CUDA, as JAX itself does in this very discovery or in the client that follows at once."""
    if cuda_state().initialised:
        return
    try:
        ctypes.CDLL("libcuda.so.1").cuInit(0)
    except OSError:
        return  # no driver: the devices stay unknown, which is reported
