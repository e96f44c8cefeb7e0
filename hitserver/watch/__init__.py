"""Watching the server: who works on what, figures for a monitor, signs of life, what is wrong and whom to tell."""
