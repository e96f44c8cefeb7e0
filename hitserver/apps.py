from django.apps import AppConfig


class HitserverConfig(AppConfig):
    """The commands for the whole server, and what it notes about itself."""

    name = "hitserver"
