"""Start TensorFlow through the doors that do not pass its eager context, under a policy.

usage: tensorflow_doors.py DOOR     DOOR: session, server or device_lib
"""

import json
import sys

import gpumem

gpumem.configure(cap="2GiB", preallocate=True)
import tensorflow as tf  # noqa: E402

DOOR = sys.argv[1]
if DOOR == "session":
    options = tf.compat.v1.GPUOptions(per_process_gpu_memory_fraction=0.9)
    with tf.Graph().as_default():
        session = tf.compat.v1.Session(config=tf.compat.v1.ConfigProto(gpu_options=options))
        session.run(tf.constant([1.0]) + 1)
elif DOOR == "server":
    server = tf.distribute.Server({"worker": ["localhost:0"]}, job_name="worker", task_index=0)
else:
    from tensorflow.python.client.device_lib import list_local_devices

    list_local_devices()
with tf.device("GPU:0"):
    held = tf.zeros([1])
rows = [row for row in gpumem.report().to_dict()["rows"] if row["framework"] == "tensorflow"]
print(json.dumps({"rows": rows}))
