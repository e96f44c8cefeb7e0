"""A server whose Redis goes away: people start, sign in and finish as before, quickly, and reports appear."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

import pytest

from annotation.work.bots import Browser
from bench.load import fill
from tests.integration.racing import start
from tests.integration.studies import make_study
from tests.services import private_redis, skip_or_fail
from tests.support import Server

pytestmark = pytest.mark.slow
PASSWORD = "a long walk home"
ADD_USER = f"""
from accounts.users import create_researcher
create_researcher(username="ada", password="{PASSWORD}", administrator=True, actor="test")
"""
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def send_two(browser: Browser, address: str, seed: int) -> set[int]:
    """The statuses of two whole tasks of one page each."""
    rng, statuses = random.Random(seed), set()
    for _ in range(2):
        page = browser.get(address)
        sent = browser.post(address, fill(page.body.encode(), rng))
        statuses |= {page.status, sent.status}
    return statuses


def sign_in(server: Server, password: str) -> int:
    parts = urlsplit(server.base_url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.request("GET", "/console/login/")
    page = connection.getresponse()
    cookie = (page.getheader("Set-Cookie") or "").partition(";")[0]
    token = page.read().decode().partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    body = urlencode({"username": "ada", "password": password, "csrfmiddlewaretoken": token})
    connection.request("POST", "/console/login/", body, {**FORM, "Cookie": cookie})
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


def test_people_start_sign_in_and_finish_without_redis(live_processes: Callable[..., Server]) -> None:
    program = shutil.which("redis-server") or ""
    if not program:
        skip_or_fail("no redis-server is installed")
    with ExitStack() as redis:
        url = redis.enter_context(private_redis(program))
        server = live_processes(env={"CELERY_BROKER_URL": url})
        path = make_study(server, items=20, ratings=5)
        server.manage("shell", "-c", ADD_USER)
        began_before = [start(server, path, seed) for seed in range(3)]
    assert Browser(server.base_url).get("/healthz").body.startswith("degraded\n")
    begin = time.monotonic()
    began_since = [start(server, path, seed) for seed in range(3, 6)]
    for seed, (browser, address) in enumerate(began_before + began_since):
        assert send_two(browser, address, seed) == {200, 303}
    assert (sign_in(server, "wrong"), sign_in(server, PASSWORD)) == (422, 302)
    assert time.monotonic() - begin < 10
    away = [line for line in server.said().splitlines() if "does not work" in line]
    assert 1 <= len(away) <= 2  # a line for each of the two processes
    assert "Traceback" not in server.said()
