"""The console's pages about submissions, decisions, payments and quality."""
