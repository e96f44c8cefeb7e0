"""The console's pages about platforms, and what workers from a platform see in its frame."""
