"""The gpumem plugin for numbat."""
