"""Several frameworks in one process under one policy: within the cap, beyond it, and what is in force then.

usage: all_in_one.py MOMENT FRAMEWORKS     MOMENT: first (configure before the imports) or between (after them)
"""

import json
import os
import sys

import gpumem

MOMENT, NAMES = sys.argv[1], sys.argv[2].split(",")
GIB = 1 << 30


def touch_jax(size):
    import jax
    import numpy as np

    return jax.device_put(np.zeros(size, np.uint8)).block_until_ready()


def touch_tensorflow(size):
    import tensorflow as tf

    with tf.device("GPU:0"):
        return tf.zeros([size // 4])


def touch_torch(size):
    import torch

    return torch.empty(size, dtype=torch.uint8, device="cuda:0")


def touch_cupy(size):
    import cupy

    return cupy.empty(size, "u1")


TOUCH = {"jax": touch_jax, "tensorflow": touch_tensorflow, "torch": touch_torch, "cupy": touch_cupy}


def configure():
    return gpumem.configure(**json.loads(os.environ["POLICY"]))


if MOMENT == "first":
    configure()
for name in NAMES:
    __import__(name)
if MOMENT == "between":
    configure()

kept = [TOUCH[name](size) for size in (16 << 20, 512 << 20) for name in NAMES]
refused = {}
for name in NAMES:
    try:
        kept.append(TOUCH[name](int(os.environ["TOO_MUCH"])))
        refused[name] = "granted"
    except Exception as error:  # each framework has a class of its own; the test looks at it
        refused[name] = type(error).__name__
report = gpumem.verify()
print(json.dumps({"refused": refused, "report": report.to_dict()}))
