"""TensorFlow's part of gpumem. Found by gpumem through its entry point; nothing here is called by programs."""
