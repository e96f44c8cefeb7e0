"""Any platform with Mechanical Turk's Requester API (2017-01-17): by default, this server's own marketplace."""
