"""HITs and the work on them."""
