# Tasks use the Celery application that was made first, so make ours wherever the project runs.
from hitserver.celery import app as celery_app

__all__ = ("celery_app",)
