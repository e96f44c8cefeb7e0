"""Mechanical Turk, or anything with its Requester API (2017-01-17): by default, this server's own marketplace."""
