"""Ways in for workers: each platform publishes studies and names its workers."""
