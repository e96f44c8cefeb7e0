"""A study on this server's own marketplace with everything going wrong.

The marketplace is the real server on the test's database. The requester's commands are processes that reach it over
HTTP. Workers' requests go straight to Django, with what a browser would send: a session on the marketplace, no cookie
in the frame.
"""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.db import connections
from django.test import Client

from marketplace import faults
from marketplace.models import Assignment as MarketAssignment
from marketplace.models import HITType
from marketplace.models import Worker as MarketWorker
from marketplace.questions import parse_question
from marketplace.services.hits import assignments
from marketplace.services.refusals import Refusal
from marketplace.sites.work.frames import question_url
from tests.annotation.pages import fields
from tests.marketplace.support.clients import Key
from tests.services import ROOT
from tests.support import Server, clean_environment

SLUG = "circle"
_TASK = re.compile(r"/marketplace/tasks/([A-Z0-9]+)/$")
#: The most that a step may take. It only ends a test that hangs: a busy machine needs minutes for 2,000 assignments.
SECONDS = 900


def order_faults() -> None:
    """Of all requests to the marketplace: 5 % errors, 5 % throttled, 2 % of the responses lost after the write."""
    shares = {"error": 0.05, "throttle": 0.05, "lost_response": 0.02, "duplicate_notification": 0.3}
    faults.set_faults([faults.Fault(kind, times=10**6, share=share) for kind, share in shares.items()])


def same_data(folder: Path) -> dict[str, str]:
    """The environment of a process that works on this test's database and signs with its secret key."""
    database = connections["default"].settings_dict
    folder.mkdir(mode=0o700, exist_ok=True)
    ours = {"HITSERVER_VAR": str(folder), "HITSERVER_SECRET_KEY": str(settings.SECRET_KEY)}
    if connections["default"].vendor == "sqlite":
        (folder / "db.sqlite3").symlink_to(database["NAME"])
        return ours
    host = f"{database['USER']}:{database['PASSWORD']}@{database['HOST']}:{database['PORT'] or 5432}"
    return ours | {"DATABASE_URL": f"postgresql://{host}/{database['NAME']}"}


# --- The requester: commands as processes -------------------------------------------------------------------


@dataclass(frozen=True)
class Requester:
    """Runs ``manage.py study`` on the test's database, with a key of the marketplace."""

    environment: dict[str, str]

    @classmethod
    def of(cls, server: Server, folder: Path, key: Key) -> Requester:
        ours = {
            "HITSERVER_VAR": str(folder),
            "HITSERVER_BASE_URL": server.base_url,
            "HITSERVER_MTURK_ACCESS_KEY_ID": key.access_key_id,
            "HITSERVER_MTURK_SECRET_ACCESS_KEY": key.secret,
            # As fast as the marketplace lets it: at the default pace, 2,000 approvals alone would take 200 s.
            "HITSERVER_MTURK_CALLS_PER_SECOND": "0",
        }
        return cls(clean_environment(same_data(folder) | ours))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "manage.py", "study", *arguments]
        return subprocess.Popen(
            command, env=self.environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def kill_when(self, due: Callable[[], bool], *arguments: str, times: int = 1) -> None:
        """Start the command, as often as ``times`` says, and end each with SIGKILL as soon as ``due``.

        Raises AssertionError if one ends before.
        """
        processes = [self.start(*arguments) for _ in range(times)]
        deadline = time.monotonic() + SECONDS
        while not due():
            for each in processes:
                assert each.poll() is None, f"{arguments} ended before it was killed:\n{each.communicate()[0]}"
            assert time.monotonic() < deadline, f"{arguments} did not get far enough in {SECONDS} s"
            time.sleep(0.02)
        for each in processes:
            each.send_signal(signal.SIGKILL)
        for each in processes:
            each.communicate()

    def run(self, *arguments: str) -> str:
        """What the command prints. Raises AssertionError unless it succeeds at last.

        Calls may fail eight times in a row, which ends the command. A person runs it again, and so does this.
        """
        for _ in range(4):
            process = self.start(*arguments)
            said = process.communicate(timeout=SECONDS)[0]
            assert "Traceback" not in said, said
            if process.returncode == 0:
                return said
        raise AssertionError(f"{arguments} failed four times:\n{said}")


# --- Notifications ------------------------------------------------------------------------------------------


@dataclass
class Mailbox:
    """Where the marketplace sends its notifications. It loses some: it takes them and forgets them."""

    lost: float = 0.2
    url: str = ""
    got: Counter[str] = field(default_factory=Counter)

    def take(self, body: bytes, rng: random.Random) -> None:
        if rng.random() >= self.lost:
            events = json.loads(body)["Events"]
            self.got.update(f"{event['EventType']} {event.get('AssignmentId', '')}" for event in events)


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    made, rng = Mailbox(), random.Random(2)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.take(self.rfile.read(int(self.headers["Content-Length"])), rng)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_port}/"
    yield made
    server.shutdown()
    server.server_close()


# --- The workers --------------------------------------------------------------------------------------------


@dataclass
class Crowd:
    """Workers who do every HIT of the group, in threads that end when nothing is left.

    ``counts`` says what they did: sent, returned before and after the start, came again, sent twice, was refused.
    """

    base_url: str
    type_id: str
    workers: list[MarketWorker]
    seed: int
    returns: float = 0.06
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    finished: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)

    def start(self, threads: int = 2) -> list[threading.Thread]:
        parts = [self.workers[number::threads] for number in range(threads)]
        made = [threading.Thread(target=self._work, args=(part, n), daemon=True) for n, part in enumerate(parts)]
        for thread in made:
            thread.start()
        return made

    def _work(self, workers: list[MarketWorker], number: int) -> None:
        rng = random.Random(f"{self.seed}/{number}")
        people = [_Person(self, worker, rng) for worker in workers]
        try:
            while people and not self.stopping.is_set():
                before = self.counts["sent"]
                for person in people:
                    person.take_one()
                if before == self.counts["sent"]:
                    if self.finished.is_set():
                        break
                    time.sleep(0.2)
            for person in people:
                person.send_rest()
        except Exception as error:
            self.problems.append(repr(error))
            self.stopping.set()
        finally:
            connections.close_all()


class _Person:
    """A worker with two browsers in one: signed in on the marketplace, without any cookie in its frame."""

    def __init__(self, crowd: Crowd, worker: MarketWorker, rng: random.Random) -> None:
        assert worker.user is not None
        self.crowd, self.worker, self.rng = crowd, worker, rng
        self.host = urlsplit(crowd.base_url).netloc
        self.market = Client(headers={"host": self.host})
        self.market.force_login(worker.user)
        self.loads_all = True
        self.waiting: list[tuple[str, dict[str, str]]] = []

    def take_one(self) -> None:
        """Accept a HIT, do it or give it back. To save time, four out of five do not load every page on the way."""
        self.loads_all = self.rng.random() < 0.2
        assignment_id = self._accept()
        if assignment_id is None:
            return
        assignment = MarketAssignment.objects.select_related("hit").get(assignment_id=assignment_id)
        question = parse_question(assignment.hit.question)
        framed = question_url(
            question.url,
            hit_id=assignment.hit.hit_id,
            assignment_id=assignment.assignment_id,
            worker_id=self.worker.worker_id,
            submit_to=self.crowd.base_url,
        )
        luck = self.rng.random()
        if luck < self.crowd.returns / 2:
            self._give_back(assignment.assignment_id, "returned before the start")
            return
        if not self._answer(framed, stop=luck < self.crowd.returns):
            self._give_back(assignment.assignment_id, "returned after the start")

    def _accept(self) -> str | None:
        if self.loads_all:
            answer = self.market.post(f"/marketplace/groups/{self.crowd.type_id}/accept")
            found = _TASK.search(answer.headers.get("Location", ""))
            return found[1] if found else None
        hit_type = HITType.objects.get(type_id=self.crowd.type_id)
        try:
            return assignments.accept(worker=self.worker, hit_type=hit_type).assignment_id
        except Refusal:
            return None

    def _give_back(self, assignment_id: str, why: str) -> None:
        self.market.post(f"/marketplace/tasks/{assignment_id}/return")
        self.crowd.counts[why] += 1

    def _answer(self, framed: str, *, stop: bool) -> bool:
        """Do the work in the frame. False if the HIT is to be returned: on a whim, or because it was refused."""
        frame = Client(headers={"host": self.host})
        address = framed.removeprefix(self.crowd.base_url)
        if self.loads_all:
            assert frame.get(address).status_code in (200, 303, 403)
        page = frame.post(address)
        if page.status_code == 403:
            self.crowd.counts["refused"] += 1
            return False
        for _ in range(10):
            assert page.status_code in (200, 303), f"{page.status_code} {page.content.decode()[:2000]}"
            if not self.loads_all and page.status_code == 303 and page["Location"].endswith("/done"):
                self._hand_in({"assignmentId": parse_qs(urlsplit(address).query)["assignmentId"][0], "code": "X"})
                return True
            while page.status_code == 303:
                page = frame.get(page["Location"])
            form = fields(page)
            if b'id="hand-in"' in page.content:
                self._hand_in(form.values)
                assert not frame.cookies
                return True
            assert "form" in form.values, page.content.decode()[:3000]
            if stop:
                return False
            answers = {name: self.rng.choice(options) for name, options in form.options.items()}
            page = frame.post(page.request["PATH_INFO"], form.values | answers)
        raise AssertionError("The work had no end.")

    def _hand_in(self, form: dict[str, str]) -> None:
        luck = self.rng.random()
        if luck < 0.05:  # the browser is closed; the worker opens the HIT again later and submits it
            self.crowd.counts["sent late"] += 1
            self.waiting.append(("/mturk/externalSubmit", form))
            return
        self._send(form)
        if luck > 0.95:
            self._send(form)
            self.crowd.counts["sent twice"] += 1

    def _send(self, form: dict[str, str]) -> None:
        done = Client(headers={"host": self.host}).post("/mturk/externalSubmit", form)
        assert done.status_code == 200, done.content.decode()[:1000]
        self.crowd.counts["sent"] += 1

    def send_rest(self) -> None:
        for _, form in self.waiting:
            self._send(form)
        self.waiting.clear()


def rewards_paid() -> dict[str, Decimal]:
    """What the marketplace paid workers for each assignment, by the ledger."""
    from marketplace.models import LedgerEntry

    paid: dict[str, Decimal] = {}
    for about, amount in LedgerEntry.objects.filter(kind="reward", account__kind="worker").values_list(
        "about", "amount"
    ):
        assert about not in paid, f"{about} was paid twice"
        paid[about] = amount
    return paid
