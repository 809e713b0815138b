"""The machinery of gpumem. Import :mod:`gpumem` instead: nothing here is a public name."""
