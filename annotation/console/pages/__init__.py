"""Pages of the console that belong to no room."""
