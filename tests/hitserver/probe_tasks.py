"""Tasks for tests of the queue. What they did shows in files, as another process has to see it."""

import time
from pathlib import Path

from celery import shared_task


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def write(path: str, text: str) -> None:
    Path(path).write_text(text)


@shared_task  # type: ignore[untyped-decorator]
def begin_and_wait(path: str, seconds: float) -> None:
    """Leaves one line for each time it was begun and one for its end."""
    with Path(path).open("a") as file:
        file.write("begun\n")
    time.sleep(seconds)
    with Path(path).open("a") as file:
        file.write("done\n")


@shared_task  # type: ignore[untyped-decorator]
def begin_and_wait_once(path: str) -> None:
    """Takes forever the first time and no time after that."""
    first = not Path(path).exists()
    begin_and_wait(path, 600 if first else 0)
