"""From a context to a text: prompts, decoders, seeds, and where sentences end. Plain Python without Django."""
