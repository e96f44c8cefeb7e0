"""Workers from platforms: publish, arrive, sync, decide and pay there, messages, and the spending guard."""
