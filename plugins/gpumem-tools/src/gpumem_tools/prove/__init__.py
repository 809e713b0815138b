"""``gpumem prove``."""
