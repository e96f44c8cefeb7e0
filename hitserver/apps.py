from django.apps import AppConfig


class HitserverConfig(AppConfig):
    """Has no tables, only the commands for the whole server."""

    name = "hitserver"
