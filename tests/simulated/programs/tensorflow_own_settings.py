"""The program's own logical devices and growth, made after configure(): kept within the limit, or made smaller.

usage: tensorflow_own_settings.py     POLICY: the arguments of configure(), as JSON
"""

import json
import os

import gpumem

gpumem.configure(**json.loads(os.environ["POLICY"]))
import tensorflow as tf  # noqa: E402

first, second = tf.config.list_physical_devices("GPU")
cpu = tf.config.list_physical_devices("CPU")[0]
make = tf.config.LogicalDeviceConfiguration
tf.config.set_logical_device_configuration(first, [make(memory_limit=6144), make(memory_limit=2048)])
tf.config.experimental.set_memory_growth(second, True)
tf.config.set_logical_device_configuration(cpu, [make(), make()])
touched = []
held = []
for number, size in ((0, 2000), (1, 900), (1, 200), (2, 3000), (2, 2000)):
    try:
        with tf.device(f"GPU:{number}"):
            held.append(tf.zeros([size, 1 << 18]))
        touched.append("granted")
    except tf.errors.OpError as error:
        touched.append(type(error).__name__)
rows = [row for row in gpumem.report().to_dict()["rows"] if row["framework"] == "tensorflow"]
cpus = len(tf.config.list_logical_devices("CPU"))
print(
    json.dumps(
        {"touched": touched, "rows": rows, "cpus": cpus, "variable": os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH")}
    )
)
