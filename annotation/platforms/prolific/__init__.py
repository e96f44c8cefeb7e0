"""Prolific, through version 1 of its REST API (docs.prolific.com)."""
