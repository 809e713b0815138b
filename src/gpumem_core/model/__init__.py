"""Frozen values that travel from one stage to the next. They import only each other, sizes and errors."""
