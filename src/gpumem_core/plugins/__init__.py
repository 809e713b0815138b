"""How the core finds its plugins and asks them."""
