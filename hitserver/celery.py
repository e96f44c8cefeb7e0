"""The task queue. Tasks are in `<app>/tasks.py` and in the modules that the setting CELERY_IMPORTS lists."""

import os
import warnings
from logging.config import dictConfig
from typing import Any

from celery import Celery
from celery.platforms import SecurityWarning
from celery.signals import (
    before_task_publish,
    celeryd_init,
    setup_logging,
    task_postrun,
    task_prerun,
    worker_process_init,
)
from kombu.transport import TRANSPORT_ALIASES

from hitserver.private import keep_new_files_private
from hitserver.processes import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitserver.settings")
TRANSPORT_ALIASES["filesystem"] = "hitserver.broker:Transport"

MODEL_QUEUE = "gpu"
#: The header of a task's message that has the number of the request which sent it.
NUMBER_HEADER = "hitserver_request"
_queues: tuple[str, ...] = ()

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
    global _queues
    queues = (options or {}).get("queues") or ()
    _queues = tuple(queues.split(",") if isinstance(queues, str) else queues)


def show_that_it_is_there(**kwargs: Any) -> None:
    """Notes this process among those that live. An idle worker that can run models also registers; otherwise nobody
    would know that there is one to wake."""
    from hitserver.watch import reporting, signs

    signs.begin(signs.Kind.WORKER, queues=",".join(_queues))
    reporting.begin()
    if MODEL_QUEUE in _queues:
        from generation.registry.presence import of_this_process

        of_this_process()


def pass_number_on(headers: Any = None, **kwargs: Any) -> None:
    """Sends the number of the request along, so that the task's log lines have it."""
    from hitserver.watch.current_work import current_number

    if headers is not None and (number := current_number()):
        headers[NUMBER_HEADER] = number


def note_begin(task: Any = None, **kwargs: Any) -> None:
    if not task.request.is_eager:  # else the request goes on after it
        from hitserver.watch import current_work, reporting

        current_work.begin_task(task.name, str(task.request.get(NUMBER_HEADER) or ""))
        reporting.begin_task(task.name)


def note_end(task: Any = None, state: str = "", **kwargs: Any) -> None:
    if not task.request.is_eager:
        from hitserver.watch import current_work, reporting

        reporting.end_task(state)
        current_work.end_task()


# Celery warns about workers that run as root because of pickled tasks, which these settings refuse.
warnings.filterwarnings("ignore", category=SecurityWarning)
setup_logging.connect(log_like_the_web)
worker_process_init.connect(leave_no_orphan)
celeryd_init.connect(note_queues)
worker_process_init.connect(show_that_it_is_there)
before_task_publish.connect(pass_number_on)
task_prerun.connect(note_begin)
task_postrun.connect(note_end)
