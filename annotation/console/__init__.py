"""The console's own pages: signing in, the list of studies, a study's overview, and the server's users."""
