"""Setting up a study: its settings, arms, items, wording and launch, its states and its members."""
