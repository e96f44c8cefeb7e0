"""People on a real server who do the same thing at the same moment."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

from annotation.work.bots import Browser
from bench.load import fill
from tests.support import Server


def start(server: Server, path: str, seed: int) -> tuple[Browser, str]:
    browser = Browser(server.base_url)
    page = browser.get(path)
    sent = browser.post(path, fill(page.body.encode(), random.Random(seed)))
    assert sent.status == 303, sent.body[:500]
    return browser, sent.location


def together(work: Callable[[int], object], how_many: int) -> list[BaseException]:
    """Run ``work(0)``, ``work(1)`` … in threads that start at the same moment. Returns what they raised."""
    gate, failures = threading.Barrier(how_many), []

    def run(number: int) -> None:
        gate.wait(30)
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(how_many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return failures


def work_to_the_end(started: tuple[Browser, str], seed: int, *, most: int) -> None:
    """Answers pages until nothing is left for this person, but never more than ``most``."""
    rng = random.Random(seed)
    browser, address = started
    for _ in range(most):
        page = browser.get(address)
        if 'name="form"' not in page.body:
            return
        sent = browser.post(address, fill(page.body.encode(), rng))
        assert sent.status == 303, sent.body[:500]
