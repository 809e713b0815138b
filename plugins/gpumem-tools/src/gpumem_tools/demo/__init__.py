"""``gpumem demo``."""
