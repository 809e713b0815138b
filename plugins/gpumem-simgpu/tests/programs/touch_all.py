"""All four frameworks in one process, each with its own settings to stay small."""

import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"

import cupy
import jax
import tensorflow as tf
import torch

placed = jax.device_put(1.0)
placed.block_until_ready()
constant = tf.constant([1.0])
empty = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
array = cupy.empty(1 << 20, "u1")
print("all")
