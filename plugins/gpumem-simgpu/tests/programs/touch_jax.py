"""Put four numbers on the first device."""

import jax
import numpy as np

placed = jax.device_put(np.arange(4.0))
placed.block_until_ready()
print(jax.devices()[0].platform)
