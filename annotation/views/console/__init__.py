"""The researcher's console: pages to set up a study, follow its progress and look at the submissions."""
