"""Runs: read from run files, planned in chunks, made by workers, exported and reported."""
