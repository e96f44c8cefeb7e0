"""The page of a study's judges."""
