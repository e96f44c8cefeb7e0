"""The task queue. Tasks are in `<app>/tasks.py` and in the modules that the setting CELERY_IMPORTS lists."""

import os
import warnings
from logging.config import dictConfig
from typing import Any

from celery import Celery
from celery.platforms import SecurityWarning
from celery.signals import celeryd_init, setup_logging, worker_process_init
from kombu.transport import TRANSPORT_ALIASES

from hitserver.private import keep_new_files_private
from hitserver.processes import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitserver.settings")
TRANSPORT_ALIASES["filesystem"] = "hitserver.broker:Transport"

MODEL_QUEUE = "gpu"
_works_on_models = False

app = Celery("hitserver")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def log_like_the_web(**kwargs: Any) -> None:
    """Gives Celery's processes the logging of the settings."""
    from django.conf import settings

    dictConfig(settings.LOGGING)


def leave_no_orphan(**kwargs: Any) -> None:
    """Ends a worker's processes with the worker, even if it is killed."""
    die_with_parent()


def note_queues(options: Any = None, **kwargs: Any) -> None:
    """Records which queues the worker's processes, forked later, serve. They inherit private files."""
    keep_new_files_private()
    global _works_on_models
    _works_on_models = MODEL_QUEUE in ((options or {}).get("queues") or ())


def show_that_it_is_there(**kwargs: Any) -> None:
    """Registers an idle worker that can run models. Otherwise nobody would know that there is one to wake."""
    if _works_on_models:
        from generation.registry.presence import of_this_process

        of_this_process()


# Celery warns about workers that run as root because of pickled tasks, which these settings refuse.
warnings.filterwarnings("ignore", category=SecurityWarning)
setup_logging.connect(log_like_the_web)
worker_process_init.connect(leave_no_orphan)
celeryd_init.connect(note_queues)
worker_process_init.connect(show_that_it_is_there)
