"""Requesters, workers and the users who sign in."""
