"""An invented framework without any limit."""
