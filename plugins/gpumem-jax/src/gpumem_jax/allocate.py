"""Allocating with JAX, for commands that show or test what a policy does; and its errors that mean "no room"."""

from __future__ import annotations

from typing import Final

OUT_OF_MEMORY: Final = (
    # XlaRuntimeError, from 0.5 on JaxRuntimeError: refused by the client's allocator.
    r"RESOURCE_EXHAUSTED: ",
    # The client could not be made, because the card had no room for its context; 0.4.35 does not give the reason.
    r"CUDA_ERROR_OUT_OF_MEMORY",
)


def allocate(size: int) -> object:
    """Put `size` bytes on JAX's first GPU; return the array that keeps them there."""
    import jax
    import numpy as np

    # A default device that is no GPU would take the memory from the host, and every cap would seem to fail.
    device = jax.config.jax_default_device
    if getattr(device, "platform", None) not in ("gpu", "cuda", "rocm"):
        device = jax.local_devices(backend="gpu")[0]
    # Zeros of NumPy are not written anywhere before they are read, and jax.numpy would compile a kernel first.
    return jax.device_put(np.zeros(size, np.uint8), device).block_until_ready()
