"""Allocate blocks under a cap until one is refused; print the error and what TensorFlow's allocator counted by then."""

import json
import sys

import tensorflow as tf

import gpumem
from gpumem_tensorflow.allocate import allocate

BLOCK = 64 << 20
gpumem.configure(cap=sys.argv[1], growth=True)

kept, error = [], ""
while not error:
    try:
        kept.append(allocate(BLOCK))
    except Exception as refused:
        error = f"{type(refused).__name__}: {refused}"
counted = tf.config.experimental.get_memory_info("GPU:0")["current"]
print(json.dumps({"error": error, "blocks": len(kept), "counted": counted}))
