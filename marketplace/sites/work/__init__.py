"""The workers' site: finding work, doing it, and seeing what became of it."""
