"""Simulated workers. They do everything over HTTP, from the start page through every page to the completion code.

Use them to try out a study, for the demo and for load tests. A token that only this server can sign marks their
participants as simulated from the start, and every page and export marks their data. One latent state decides all
answers of one simulated worker. The server assigns their arm, as it does for people.
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

from annotation.instrument import live_instrument, shown_to
from annotation.models import Assignment, Participant, Study
from annotation.task_types.base import Page
from annotation.task_types.questionnaires import COMPREHENSION
from annotation.task_types.simulation import PROFILES, Profile, SimulatedWorker
from annotation.tokens import bot_token, read_form_token, read_questions_token, read_training_token
from annotation.work.right_answers import best_attempt, typed_rightly
from annotation.work.standing import given_answers
from annotation.work.training_rounds import training_due

#: Median seconds per question that a simulated worker claims to have spent.
SECONDS = {"careful": 9.0, "noisy": 6.0, "careless": 1.5}
MOST_TRIES = 5
#: Seconds between two loads of a page that waits for suggestions, and seconds until a bot gives up.
LOOK_AGAIN, LONGEST_WAIT = 0.25, 300.0


class BotError(RuntimeError):
    """The server sent a response that a worker should never get."""


class TurnedAway(Exception):
    """The start page did not admit this simulated worker."""


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
    """What a run of bots did. ``turned_away`` counts the bots that the start page did not admit."""

    workers: int = 0
    turned_away: int = 0
    submissions: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.workers + other.workers,
            self.turned_away + other.turned_away,
            self.submissions + other.submissions,
            self.seconds + other.seconds,
            self.problems + other.problems,
        )


class _Reader(HTMLParser):
    """What a bot needs from a page: hidden fields, whether the page asks for consent, waits for suggestions or is
    practice, and the completion code."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.hidden: dict[str, str] = {}
        self.asks_consent = False
        self.code = ""
        self.waits = False
        self.practises = False
        self._in_code = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "input" and attributes.get("type") == "hidden":
            self.hidden[attributes.get("name", "")] = attributes.get("value", "")
        elif tag == "input" and attributes.get("name") == "agree":
            self.asks_consent = True
        elif tag == "form" and attributes.get("action", "").endswith("/training/"):
            self.practises = True
        self.waits = self.waits or attributes.get("id") in ("waiting", "pull-waiting")
        self._in_code = "code" in attributes.get("class", "").split()

    def handle_data(self, data: str) -> None:
        if self._in_code:
            self.code = data.strip()
            self._in_code = False


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    location: str
    body: str

    @property
    def goes_on(self) -> bool:
        return self.status in (302, 303)


class Browser:
    """One persistent connection and no cookies: the workers' pages must work with that."""

    def __init__(self, base_url: str) -> None:
        self.parts = urlsplit(base_url)
        self.connection: http.client.HTTPConnection | None = None

    def get(self, path: str) -> Response:
        return self._send("GET", path, None)

    def post(self, path: str, form: dict[str, str]) -> Response:
        return self._send("POST", path, urlencode(form))

    def _send(self, method: str, path: str, body: str | None) -> Response:
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if body is not None else {}
        for attempt in range(MOST_TRIES):
            try:
                if self.connection is None:
                    kind = http.client.HTTPSConnection if self.parts.scheme == "https" else http.client.HTTPConnection
                    self.connection = kind(self.parts.hostname or "", self.parts.port, timeout=60)
                self.connection.request(method, path, body=body, headers=headers)
                response = self.connection.getresponse()
                received = Response(
                    response.status, response.getheader("Location", ""), response.read().decode("utf-8")
                )
            except (OSError, http.client.HTTPException):
                # The server may close a persistent connection at any time. Repeating any of our requests is safe.
                self.close()
                if attempt == MOST_TRIES - 1:
                    raise
                time.sleep(0.2 * attempt)
                continue
            if received.status != 503:
                return received
            time.sleep(0.5)
        return received

    def close(self) -> None:
        if self.connection:
            self.connection.close()
            self.connection = None


@dataclass(slots=True)
class Bot:
    """One simulated worker at one study. ``done`` is called after each submission."""

    study: Study
    worker: SimulatedWorker
    browser: Browser
    done: Callable[[], object]
    code: str = ""

    def walk(self, *, most: int | None = None) -> int:
        """Start, then do hits until the server has no more or ``most`` are done. Returns how many were submitted.

        Raises TurnedAway, and BotError if a page is not what it should be.
        """
        path = self.start()
        try:
            submissions = self.answer_all(path, most=most)
            if submissions:
                last = self._read(f"{path}done")
                if "asks" in last.hidden:
                    self.answer_questionnaire(path, last.hidden)
                    last = self._read(f"{path}done")
                self.code = last.code
                if not self.code:
                    raise BotError(f"{path}done shows no completion code after {submissions} submissions")
        finally:
            self.browser.close()
        return submissions

    def start(self) -> str:
        """Pass the start page, with consent if it asks for it. Returns the address of the participant's own page."""
        token = bot_token(self.study.pk, name=self.worker.name, profile=self.worker.profile)
        return self.enter(f"{reverse('study_start', args=[self.study.slug])}?{urlencode({'bot': token})}")

    def enter(self, path: str) -> str:
        """Pass the start page at this address, which may also be a platform's. Returns the address of the work.

        A platform's worker who has started the study before gets no start page. Raises TurnedAway, BotError.
        """
        came = self.browser.get(path)
        if came.goes_on:
            return came.location
        start_page = self._read(path)
        form = start_page.hidden | ({"agree": "yes"} if start_page.asks_consent else {})
        reply = self.browser.post(path, form)
        if reply.status == 403:
            raise TurnedAway
        if not reply.goes_on:
            raise BotError(f"Starting {self.study.slug} answered {reply.status}: {reply.body[:200]}")
        return reply.location

    def answer_all(self, path: str, *, most: int | None = None) -> int:
        """Answer pages until the server has no more or ``most`` hits are done. Returns how many were submitted.

        Questionnaires that come in between are answered on the way.
        """
        submissions = 0
        while most is None or submissions < most:
            page = self._read(path)
            if "asks" in page.hidden:
                self.answer_questionnaire(path, page.hidden)
                continue
            if "form" not in page.hidden:
                break
            if page.practises:
                self.practise(path, page.hidden["form"])
                continue
            submissions += self.answer(path, page.hidden["form"])
        return submissions

    def answer_questionnaire(self, path: str, hidden: dict[str, str]) -> None:
        """Answer a questionnaire with this worker's character. Raises TurnedAway, BotError.

        A careful worker knows the right answers to a comprehension check; what people say about themselves is drawn
        once per question.
        """
        token = read_questions_token(hidden["form"])
        participant = Participant.objects.get(pk=token.participant)
        asked = live_instrument(participant.arm_id).asked
        page = asked.page(token.questionnaire)
        form: dict[str, str] = {"form": hidden["form"], "timing": json.dumps(timing(page, self.worker))}
        for question in page.questions:
            form |= self.worker.answer(question, item=f"{self.worker.name}/{token.attempt}")
        for check in asked.comprehension if token.questionnaire == COMPREHENSION else ():
            knows = self.worker.rng(check.question.key, token.attempt).random() < self.worker.ability
            form |= check.question.typed(check.right[0]) if knows else {}
        reply = self.browser.post(f"{path}questions/", form)
        if not reply.goes_on:
            raise BotError(f"POST {path}questions/ answered {reply.status}: {reply.body[:200]}")

    def practise(self, path: str, token: str) -> None:
        """Answer a page of the training: a careful worker mostly knows what is right. Raises TurnedAway, BotError."""
        form_token = read_training_token(token)
        participant = Participant.objects.get(pk=form_token.participant)
        instrument = live_instrument(participant.arm_id)
        due = training_due(participant.pk, participant.arm_id, instrument)
        if due is None:
            raise BotError(f"{path} shows a training page that is not due")
        form = instrument.task.simulate(self.worker, due.shown, due.page, due.before)
        best = best_attempt(instrument, due.items.items[due.position], due.order)
        knows = self.worker.rng("training", due.item_id, due.attempt).random() < self.worker.ability
        form |= typed_rightly(best, due.page) if knows and best is not None else {}
        form |= {"form": token, "timing": json.dumps(timing(due.page, self.worker))}
        reply = self.browser.post(f"{path}training/", form)
        if not reply.goes_on:
            raise BotError(f"POST {path}training/ answered {reply.status}: {reply.body[:200]}")
        self._read(f"{path}training/")

    def answer(self, path: str, token: str) -> bool:
        """Answer the page that ``token`` came from, and send it. True if that completed the hit. Raises BotError."""
        step_token = read_form_token(token)
        assignment = Assignment.objects.select_related("participant").get(pk=step_token.assignment)
        instrument = live_instrument(assignment.participant.arm_id)
        shown, before = shown_to(assignment, instrument), given_answers(assignment.pk)
        page = instrument.page(shown, step_token.step, lambda: before)
        if page is None:
            raise BotError(f"{path} shows step {step_token.step + 1}, behind the last")
        while page.pulls and (typed := instrument.task.simulate_pull(self.worker, shown, page)) is not None:
            # Press the page's button for suggestions and wait until they arrive.
            reply = self.browser.post(f"{path}suggest", typed | {"form": token})
            if not reply.goes_on or "?" in reply.location:
                raise BotError(f"POST {path}suggest answered {reply.status} and led to {reply.location or 'nowhere'}")
            self._read(path)
            shown = shown_to(assignment, instrument)
            page = instrument.page(shown, step_token.step, lambda: before) or page
        form = instrument.task.simulate(self.worker, shown, page, before)
        form |= {"form": token, "timing": json.dumps(timing(page, self.worker))}
        reply = self.browser.post(path, form)
        if not reply.goes_on:
            raise BotError(f"POST {path} answered {reply.status}: {reply.body[:200]}")
        assignment.refresh_from_db(fields=["state"])
        if assignment.state != Assignment.State.SUBMITTED:
            return False
        self.done()
        return True

    def _read(self, path: str) -> _Reader:
        """The page, as soon as it no longer waits for suggestions."""
        give_up = time.monotonic() + LONGEST_WAIT
        while True:
            response = self.browser.get(path)
            if response.goes_on:
                response = self.browser.get(response.location)
            if response.status == 403:
                raise TurnedAway
            if response.status != 200:
                raise BotError(f"GET {path} answered {response.status}: {response.body[:200]}")
            read = _Reader(response.body)
            if not read.waits:
                return read
            if time.monotonic() > give_up:
                raise BotError(f"{path} has waited for suggestions for {LONGEST_WAIT:g} s")
            time.sleep(LOOK_AGAIN)


def timing(page: Page, worker: SimulatedWorker) -> dict[str, dict[str, float]]:
    """Seconds per question that such a worker might need: log-normal, with the profile's median."""
    rng = worker.rng("timing", page.name)
    seconds_so_far, measured = 0.0, {}
    for question in page.questions:
        seconds = round(SECONDS[worker.profile] * rng.lognormvariate(0, 0.5), 2)
        seconds_so_far = round(seconds_so_far + seconds, 2)
        measured[question.key] = {"seconds": seconds, "at": seconds_so_far, "pastes": 0}
    return measured


def simulate_workers(
    *,
    study: Study,
    base_url: str,
    workers: int,
    mix: Mix,
    seed: int,
    first: int = 0,
    at_once: int = 8,
    hits_per_worker: int | None = None,
    progress: Callable[[], object] = lambda: None,
) -> Tally:
    """Let simulated workers do the study at ``base_url``, ``at_once`` of them at a time.

    The same seed gives the same workers with the same profiles, numbered from ``first``. As with people, who gets which
    hit depends on who is faster. If the caller is interrupted, each worker stops after its current hit.
    """
    tally = Tally()
    stop = Event()
    started = time.monotonic()
    names = [f"bot-{seed}-{number}" for number in range(first, first + workers)]

    def done() -> None:
        progress()
        if stop.is_set():
            raise BotError("The simulation was interrupted.")

    def run(name: str) -> int:
        worker = SimulatedWorker.named(name, mix.draw(random.Random(f"{study.slug}/{name}")))
        try:
            return Bot(study, worker, Browser(base_url), done).walk(most=hits_per_worker)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=at_once) as pool:
        try:
            for future in as_completed([pool.submit(run, name) for name in names]):
                try:
                    tally.submissions += future.result()
                    tally.workers += 1
                except TurnedAway:
                    tally.turned_away += 1
                except (BotError, OSError, http.client.HTTPException) as error:
                    tally.problems.append(f"{type(error).__name__}: {error}")
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    tally.seconds = time.monotonic() - started
    return tally
