"""Pages for the people who run the marketplace, and for those who pay for work on it."""
