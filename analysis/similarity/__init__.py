"""How close texts are to a reference or a context."""
