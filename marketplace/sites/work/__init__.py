"""The workers' site: find work, do it, and see the results."""
