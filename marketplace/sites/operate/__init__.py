"""Pages for those who run the marketplace and for those who pay for the work on it."""
