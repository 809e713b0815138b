"""Which devices this process has, found without starting anything."""
