"""JAX's part of gpumem. The hooks stand in `gpumem_jax.plugin`."""
