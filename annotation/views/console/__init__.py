"""The researcher's console: pages to set a study up, to watch it and to look at what came in."""
