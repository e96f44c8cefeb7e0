"""What Django's setting LOGGING is: one format for everything, on standard error."""

from __future__ import annotations

from typing import Any


def logging_config(level: str, *, private: bool, form: str = "text") -> dict[str, Any]:
    """For ``logging.config.dictConfig``. ``private``: messages may have several lines. ``form``: text or json."""
    formatter = "JsonFormatter" if form == "json" else "PrivateFormatter" if private else "OneLineFormatter"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "class": f"hitserver.logs.{formatter}",
                "format": "%(asctime)s %(levelname)s %(name)s [%(process)d%(number)s] %(message)s",
            },
        },
        "filters": {"once": {"()": "hitserver.logs.OncePerCause"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["once"]}},
        "root": {"handlers": ["stderr"], "level": level.upper()},
        "loggers": {
            # Django gives this logger its own handler. Here its messages go where all others go.
            "django": {"handlers": [], "propagate": True},
            # At "debug", every query would drown out the rest and log people's answers.
            "django.db.backends": {"level": "INFO"},
            "django.template": {"level": "INFO"},
            # It warns about every HEAD request, whose body it correctly leaves out.
            "gunicorn.http.wsgi": {"level": "ERROR"},
            "gunicorn.error": {"level": level.upper(), "handlers": [], "propagate": True},
            # It logs four lines for every task, all day. Failures are warnings and errors.
            "celery": {"level": "INFO" if level == "debug" else "WARNING"},
        },
    }
