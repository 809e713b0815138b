"""Memory over time as a picture: in a terminal and as SVG."""
