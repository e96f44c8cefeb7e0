"""The pages on which workers answer."""
