"""How workers reach a study: each platform publishes studies and identifies its workers."""
