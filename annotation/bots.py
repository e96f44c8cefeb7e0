"""Simulated workers: they open the real pages over HTTP, answer by the task type's ``simulate`` hook, and send forms.

For trying a study out, for the demo and for load. Their participants are synthetic from the start, and everything
that shows their data says so.
"""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from html.parser import HTMLParser
from threading import Event
from urllib.parse import urlencode, urlsplit

from django.db import connections
from django.urls import reverse

from annotation.instrument import Instrument, live_instrument, shown_to
from annotation.models import Assignment, Participant, Study
from annotation.services.allocation import enrol
from annotation.task_types.base import PROFILES, Profile, StepSpec
from annotation.tokens import participant_token, read_form_token

#: Median seconds per question that a simulated worker claims to have spent.
SECONDS = {"careful": 9.0, "noisy": 6.0, "careless": 1.5}
MOST_TRIES = 5


class BotError(RuntimeError):
    """The server answered what no page should answer."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Shares of the profiles among simulated workers."""

    careful: float = 0.7
    noisy: float = 0.2
    careless: float = 0.1

    def draw(self, rng: random.Random) -> Profile:
        return rng.choices(PROFILES, weights=[self.careful, self.noisy, self.careless])[0]


@dataclass(slots=True)
class Tally:
    """What a run of bots did."""

    workers: int = 0
    submissions: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)


class _Form(HTMLParser):
    """The value of the page's hidden field ``form``: the one thing a bot needs to know of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.token = ""

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "input" and found.get("name") == "form":
            self.token = found.get("value") or ""


@dataclass(frozen=True, slots=True)
class Page:
    status: int
    location: str
    body: str


class Browser:
    """One kept connection, no cookies: what the workers' pages have to make do with."""

    def __init__(self, base_url: str) -> None:
        self.parts = urlsplit(base_url)
        self.connection: http.client.HTTPConnection | None = None

    def get(self, path: str) -> Page:
        return self._send("GET", path, None)

    def post(self, path: str, form: dict[str, str]) -> Page:
        return self._send("POST", path, urlencode(form))

    def _send(self, method: str, path: str, body: str | None) -> Page:
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if body is not None else {}
        for attempt in range(MOST_TRIES):
            try:
                connection = self.connection = self.connection or self._connect()
                connection.request(method, path, body=body, headers=headers)
                response = connection.getresponse()
                page = Page(response.status, response.getheader("Location", ""), response.read().decode("utf-8"))
            except (OSError, http.client.HTTPException):
                # A kept connection may be closed by the server at any time; every request of ours may be repeated.
                self.close()
                if attempt == MOST_TRIES - 1:
                    raise
                time.sleep(0.2 * attempt)
                continue
            if page.status != 503:
                return page
            time.sleep(0.5)
        return page

    def _connect(self) -> http.client.HTTPConnection:
        secure = self.parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return kind(self.parts.hostname or "", self.parts.port, timeout=60)

    def close(self) -> None:
        if self.connection:
            self.connection.close()
            self.connection = None


def work_through(
    *, base_url: str, participant: Participant, rng: random.Random, most: int | None = None, done: Callable[[], object]
) -> int:
    """Answer hit after hit until the server has no more, or ``most`` are done; how many were submitted."""
    browser = Browser(base_url)
    path = reverse("work", args=[participant_token(participant.pk)])
    submissions = 0
    try:
        while most is None or submissions < most:
            page = browser.get(path)
            if page.status in (302, 303):
                break
            if page.status != 200:
                raise BotError(f"GET {path} answered {page.status}: {page.body[:200]}")
            parsed = _Form()
            parsed.feed(page.body)
            if not parsed.token:
                break
            form, last = answer(parsed.token, participant, rng)
            sent = browser.post(path, form)
            if sent.status not in (302, 303):
                raise BotError(f"POST {path} answered {sent.status}: {sent.body[:200]}")
            if last:
                submissions += 1
                done()
    finally:
        browser.close()
    return submissions


def answer(token: str, participant: Participant, rng: random.Random) -> tuple[dict[str, str], bool]:
    """The form to send for the page that ``token`` came from, and whether it is the assignment's last."""
    about = read_form_token(token)
    assignment = Assignment.objects.get(pk=about.assignment, participant=participant)
    instrument: Instrument = live_instrument(participant.study_id)
    shown = shown_to(assignment, instrument)
    specs = instrument.steps(shown)
    step = specs[about.step]
    profile: Profile = next(name for name in PROFILES if name == participant.profile)
    form = instrument.task.simulate(shown, step, profile=profile, rng=rng)
    return form | {"form": token, "timing": json.dumps(timing(step, profile, rng))}, about.step + 1 == len(specs)


def timing(step: StepSpec, profile: Profile, rng: random.Random) -> dict[str, dict[str, float]]:
    """Times that such a worker might have needed: log-normal about the profile's median."""
    at, known = 0.0, {}
    for question in step.questions:
        seconds = round(SECONDS[profile] * rng.lognormvariate(0, 0.5), 2)
        at = round(at + seconds, 2)
        known[question.key] = {"seconds": seconds, "at": at, "pastes": 0}
    return known


def simulate_workers(
    *,
    study: Study,
    base_url: str,
    workers: int,
    mix: Mix,
    seed: int,
    at_once: int = 8,
    hits_per_worker: int | None = None,
    progress: Callable[[], object] = lambda: None,
) -> Tally:
    """Let ``workers`` simulated workers do the study at ``base_url``, ``at_once`` at a time.

    The same seed gives the same workers with the same profiles; which hits they get depends on the race between
    them, as with people. When the caller is interrupted, each ends with the hit it is at.
    """
    tally = Tally()
    stop = Event()
    started = time.monotonic()
    names = [f"bot-{seed}-{number}" for number in range(workers)]

    def done() -> None:
        progress()
        if stop.is_set():
            raise BotError("The simulation was interrupted.")

    def run(name: str) -> int:
        rng = random.Random(f"{study.slug}/{name}")
        try:
            participant = enrol(
                study=study,
                platform="simulated",
                platform_id=f"{study.slug}/{name}",
                consented=True,
                synthetic=True,
                profile=mix.draw(rng),
            )
            return work_through(base_url=base_url, participant=participant, rng=rng, most=hits_per_worker, done=done)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=at_once) as pool:
        try:
            for future in as_completed([pool.submit(run, name) for name in names]):
                try:
                    tally.submissions += future.result()
                    tally.workers += 1
                except (BotError, OSError, http.client.HTTPException) as error:
                    tally.problems.append(f"{type(error).__name__}: {error}")
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    tally.seconds = time.monotonic() - started
    return tally
