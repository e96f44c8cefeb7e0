# Tasks go through whatever Celery application was made first, so ours exists wherever the project runs.
from hitserver.celery import app as celery_app

__all__ = ("celery_app",)
