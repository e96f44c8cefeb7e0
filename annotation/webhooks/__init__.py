"""Webhooks: which programs are told what happens in a study, and the messages to them."""
