"""``gpumem simulate``."""
