"""Declare a policy, touch GPUs, and print what was granted and what the report says before and after.

usage: tensorflow_touch.py MOMENT TOUCHES
    MOMENT: first (configure before the import) or between (after the import, before the first use)
    TOUCHES: logical GPU and MiB, in this order, such as 0:256,1:4096
    POLICY: the arguments of configure(), as JSON; AGAIN: those of a second configure() after the start
"""

import json
import os
import sys
import warnings

import gpumem

MOMENT = sys.argv[1]
TOUCHES = [tuple(int(part) for part in touch.split(":")) for touch in sys.argv[2].split(",") if touch]
POLICY = json.loads(os.environ.get("POLICY", "{}"))


def rows():
    return [row for row in gpumem.report().to_dict()["rows"] if row["framework"] == "tensorflow"]


shown = {"warnings": []}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", gpumem.GpumemWarning)
    if MOMENT == "first":
        gpumem.configure(**POLICY)
    import tensorflow as tf

    if MOMENT == "between":
        gpumem.configure(**POLICY)
    shown["before"] = rows()
    held, shown["touched"] = [], []
    for number, size in TOUCHES:
        try:
            with tf.device(f"GPU:{number}"):
                held.append(tf.zeros([size, 1 << 18]))
            shown["touched"].append("granted")
        except tf.errors.OpError as error:
            shown["touched"].append(type(error).__name__)
    if not TOUCHES:
        tf.constant([1.0])
    shown["gpus"] = len(tf.config.list_logical_devices("GPU"))
    shown["rows"] = rows()
    shown["growth_variable"] = os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH")
    if "AGAIN" in os.environ:
        shown["same"] = [row["state"] for row in gpumem.configure(**POLICY).to_dict()["rows"]]
        try:
            gpumem.configure(**json.loads(os.environ["AGAIN"]))
        except gpumem.LateInitialisationError as error:
            shown["again"] = str(error)
        shown["after_refusal"] = rows()
        shown["left"] = list(gpumem.reset() or ())
    shown["warnings"] = [str(item.message) for item in caught if issubclass(item.category, gpumem.GpumemWarning)]
print(json.dumps(shown))
