"""As toy_settings, on queues that one test has for itself, for a broker that others use too."""

import os

from hitserver import celery
from tests.generation.support.toy_settings import *  # noqa: F403

_MARK = os.environ["HITSERVER_TEST_QUEUES"]
CELERY_TASK_DEFAULT_QUEUE = f"{_MARK}-default"
CELERY_TASK_ROUTES = {f"generation.tasks.{name}": {"queue": f"{_MARK}-gpu"} for name in ("work", "check")}
celery.MODEL_QUEUE = f"{_MARK}-gpu"  # a worker of this queue counts as a worker for models
