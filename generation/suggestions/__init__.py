"""Live suggestions for writers: suggesters, the process that writes, and the pool for when that takes too long."""
