"""Where the time of a demo goes: one line for each step, with its seconds."""

from __future__ import annotations

import time


def say(text: str) -> None:
    print(text, flush=True)


class Steps:
    """Prints each step when it is done. ``before``: the seconds that setting up took, before this process started."""

    def __init__(self, *, before: float = 0.0) -> None:
        self.began = time.monotonic() - before
        self.last = time.monotonic()

    def done(self, text: str, *, seconds: float | None = None) -> None:
        """A step that began when the one before was done, or that took ``seconds``."""
        now = time.monotonic()
        say(f"{now - self.last if seconds is None else seconds:6.1f} s  {text}")
        self.last = now

    def ready(self) -> None:
        """The last line: how long everything took."""
        say(f"{time.monotonic() - self.began:6.1f} s  in total")
