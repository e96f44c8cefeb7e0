"""The console's pages about webhooks."""
