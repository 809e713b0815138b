"""Start TensorFlow without a policy and declare one afterwards, each way; the importer is another module.

usage: tensorflow_late.py HOW     HOW: context or device_lib
"""

import json
import sys
import warnings

import tensorflow as tf

HOW = sys.argv[1]
if HOW == "context":
    tf.constant([1.0])
else:
    from tensorflow.python.client import device_lib

    device_lib.list_local_devices()

import gpumem  # noqa: E402 - too late is what this is about

POLICY = {"cap": "2GiB", "growth": True}
shown = {"error": ""}


def rows():
    return {row["field"]: row for row in gpumem.report().to_dict()["rows"] if row["framework"] == "tensorflow"}


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", gpumem.GpumemWarning)
    try:
        gpumem.configure(**POLICY)
    except gpumem.LateInitialisationError as error:
        shown["error"] = str(error)
        gpumem.configure(**POLICY, on_late="warn")
    shown["before"] = rows()
    with tf.device("GPU:0"):
        held = tf.zeros([1])
    shown["rows"] = rows()
    try:
        gpumem.verify(strict=True)
        shown["strict"] = ""
    except gpumem.VerificationError as error:
        shown["strict"] = str(error)
    shown["warnings"] = [str(item.message) for item in caught if issubclass(item.category, gpumem.GpumemWarning)]
print(json.dumps(shown))
