"""The pages about one worker."""
