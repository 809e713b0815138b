"""Put one number on the first device, under a limit of 4096 MiB."""

import tensorflow as tf

first = tf.config.list_physical_devices("GPU")[0]
limit = tf.config.LogicalDeviceConfiguration(memory_limit=4096)
tf.config.set_logical_device_configuration(first, [limit])
print(tf.constant([1.0]).device)
