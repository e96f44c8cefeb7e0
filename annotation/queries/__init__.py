"""Everything that only reads."""
