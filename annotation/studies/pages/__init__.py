"""The console's pages on which a study is set up."""
