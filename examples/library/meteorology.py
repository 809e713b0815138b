"""A library that works well with growth, and leaves the decision to the application."""

try:
    import gpumem
except ImportError:  # the library does not need gpumem
    pass
else:
    gpumem.prefer(growth=True)


def forecast() -> str:
    """Return tomorrow's weather."""
    return "sunny"
