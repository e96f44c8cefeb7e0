"""What the web server loads before its first request, so that all its processes share it."""

import logging
from importlib import import_module
from urllib.parse import urlsplit
from wsgiref.util import setup_testing_defaults

from django.apps import apps
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.db import connections
from django.template import engines
from django.template.loader import get_template
from django.urls import get_resolver

logger = logging.getLogger(__name__)

#: Templates of the pages that workers see in every study, and of the pages with which the console begins.
WORKERS_PAGES = ("templates/annotation/**/*.html", "annotation/work/pages/templates/**/*.html")
FIRST_PAGES = (
    "recruiting/at_limit.html",
    "recruiting/hand_in.html",
    "people/record.html",
    "console/login.html",
    "console/studies.html",
    "console/study.html",
)
MOST_REDIRECTS = 3
#: The key of a session that has ended. Django looks up no key that is shorter than eight characters.
ENDED = "ended-session"


def load_for_requests(application: WSGIHandler | None = None) -> None:
    """Loads the views, template tags, task types and the pages that people see first, and opens the first page once.

    Otherwise each process would load its own copy on its first requests, which took 0.4 s of processor time.
    """
    get_resolver().check()
    engines.all()
    if apps.is_installed("annotation"):
        import_module("annotation.task_types.registry").all_types()
        for pattern in WORKERS_PAGES:
            for path in sorted(settings.BASE_DIR.glob(pattern)):
                get_template(path.as_posix().rpartition("templates/")[2])
        for name in FIRST_PAGES:
            get_template(name)
    if application is not None:
        open_first_page(application)


def open_first_page(application: WSGIHandler) -> None:
    """Asks for the first page as a browser does whose session has ended, which also reads the database.

    A failure is only logged: people who open the page see the same one.
    """
    host = next((name.lstrip(".") for name in settings.ALLOWED_HOSTS if name != "*"), "localhost")
    environ = {"HTTP_HOST": host, "HTTP_COOKIE": f"{settings.SESSION_COOKIE_NAME}={ENDED}"}
    environ["wsgi.url_scheme"] = "https" if settings.PRODUCTION else "http"
    setup_testing_defaults(environ)
    path = "/"
    try:
        for _ in range(MOST_REDIRECTS):
            response = application.get_response(WSGIRequest(environ | {"PATH_INFO": path}))
            path = urlsplit(response.headers.get("Location", "")).path
            if not path:
                break
    except Exception:
        logger.warning("The first page could not be opened before the server was ready.", exc_info=True)
    finally:
        connections.close_all()
