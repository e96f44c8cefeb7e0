"""A marketplace that answers the MTurk Requester API (2017-01-17) and gives workers a site to work on."""
