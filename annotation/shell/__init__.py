"""What all pages of the console share: the base page, access, and forms in common."""
