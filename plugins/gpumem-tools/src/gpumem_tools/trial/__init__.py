"""Programs in fresh interpreters that allocate with frameworks and write down what became of it."""
