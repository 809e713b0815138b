"""Allocating with TensorFlow, for commands that show or test what a policy does; and its errors that mean "no room"."""

from __future__ import annotations

from typing import Final

OUT_OF_MEMORY: Final = (
    # Refused by the allocator: "OOM when allocating tensor ...", "failed to allocate memory".
    r"^ResourceExhaustedError: ",
    # A copy to the GPU found no room for its destination.
    r"^InternalError: .*Dst tensor is not initialized",
    # The card had no room for the context.
    r"CUDA_ERROR_OUT_OF_MEMORY",
    r"^InternalError: .*Status: out of memory",
)


def allocate(size: int) -> object:
    """Put `size` bytes, rounded up to 4, on TensorFlow's first GPU; return the tensor that keeps them there."""
    import tensorflow as tf

    with tf.device("GPU:0"):
        # An operation of the GPU: a constant would be made on the host first. A shape in 64 bits reaches beyond 8 GiB.
        return tf.fill(tf.constant([-(-size // 4)], tf.int64), 0.0)
