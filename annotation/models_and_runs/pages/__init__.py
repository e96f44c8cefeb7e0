"""The console's pages about models, runs and suggesters."""
