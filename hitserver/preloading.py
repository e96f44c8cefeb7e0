"""What the web server loads before its first request, so that all its processes share it."""

from importlib import import_module

from django.apps import apps
from django.conf import settings
from django.template import engines
from django.template.loader import get_template
from django.urls import get_resolver

#: Templates of the pages that workers see in every study.
WORKERS_PAGES = "annotation"


def load_for_requests() -> None:
    """Loads the views, template tags, task types and workers' pages.

    Otherwise each process would load its own copy on its first requests, which took 0.4 s of processor time.
    """
    get_resolver().check()
    engines.all()
    if apps.is_installed("annotation"):
        import_module("annotation.task_types.registry").all_types()
        templates = settings.BASE_DIR / "templates"
        for page in sorted((templates / WORKERS_PAGES).rglob("*.html")):
            get_template(str(page.relative_to(templates)))
