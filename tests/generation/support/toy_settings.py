"""The server's settings with the toy in place of language models, for processes that tests start."""

from hitserver.settings import *  # noqa: F403

CELERY_IMPORTS = ["tests.generation.support.toy_worker"]
