"""Put one number on the first device."""

import jax

placed = jax.device_put(1.0)
placed.block_until_ready()
print(jax.devices()[0].platform)
