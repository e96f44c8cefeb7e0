"""The whole circle on one machine: what ``script/demo --platform marketplace`` adds to the demo.

The study is published as HITs on this server's own marketplace. Simulated workers join the marketplace, accept HITs on
its pages, answer the study's pages in the frame and submit. The requester then syncs, approves and pays. Everything
goes over HTTP, as with people; only the money is made up.
"""

from __future__ import annotations

import os
import random
import re
import secrets
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit
from urllib.request import HTTPCookieProcessor, build_opener

from common.words import counted, money

if TYPE_CHECKING:
    from annotation.models import Study
    from annotation.task_types.simulation import SimulatedWorker

REQUESTER = "Demo lab"
ROOT = Path(__file__).resolve().parent.parent
#: What the requester has on the marketplace.
PLAY_MONEY = Decimal("100000.00")
PLATFORM = "mturk"  # the marketplace's protocol
SECONDS = 60
_ACCEPT = re.compile(r"/marketplace/groups/\w+/accept$")
_TASK = re.compile(r"/marketplace/tasks/(\w+)/$")


class OffTrack(Exception):
    """A page is not what it should be."""


# --- Pages as a simulated worker reads them ------------------------------------------------------------------


@dataclass
class Form:
    """A form on a page: where it is sent, and the values of its fields."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """A page's address, its forms with their values, and the address of the page in its frame."""

    def __init__(self, url: str, html: str) -> None:
        super().__init__()
        self.url, self.html = url, html
        self.forms: list[Form] = []
        self.frame = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(urljoin(self.url, attributes.get("action") or self.url)))
        elif tag == "iframe":
            self.frame = urljoin(self.url, attributes.get("src", ""))
        elif tag == "input" and self.forms and attributes.get("type") not in ("checkbox", "radio", "submit"):
            self.forms[-1].fields[attributes.get("name", "")] = attributes.get("value", "")

    def form(self, action: re.Pattern[str]) -> Form | None:
        """The first form whose path matches ``action``; None if there is none."""
        return next((form for form in self.forms if action.search(urlsplit(form.action).path)), None)


class Visitor:
    """A browser with cookies, for the marketplace's own pages."""

    def __init__(self) -> None:
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()))

    def open(self, url: str, form: dict[str, str] | None = None) -> Page:
        """The page, after any redirects. Raises OSError, also for an error status."""
        data = None if form is None else urlencode(form).encode()
        with self._opener.open(url, data, timeout=SECONDS) as response:
            return Page(response.url, response.read().decode())


# --- Workers --------------------------------------------------------------------------------------------------


class MarketWorker:
    """A simulated worker of the marketplace. ``done`` is called after each submission."""

    def __init__(self, study: Study, worker: SimulatedWorker, base_url: str, done: Callable[[], object]) -> None:
        self.study, self.worker, self.base_url, self.done = study, worker, base_url, done
        self.site = Visitor()

    def join(self, link: str, password: str) -> None:
        """Follows the invitation and signs in as a new worker. Raises OffTrack."""
        page = self.site.open(link)
        form = page.form(re.compile(r"/join/"))
        if form is None:
            raise OffTrack(f"{page.url} has no form to join.")
        account = {"username": self.worker.name, "password": password, "country": "DE"}
        joined = self.site.open(form.action, form.fields | account)
        if urlsplit(joined.url).path != "/marketplace/":
            raise OffTrack(f"{self.worker.name} could not join: {joined.url}")

    def work(self) -> int:
        """Accepts, answers and submits HITs until the marketplace has no more. Returns how many were submitted."""
        submitted = 0
        while (task := self._accept()) is not None:
            if self._answer(task):
                submitted += 1
                self.done()
            else:
                form = task.form(re.compile(r"/return$"))
                if form is None:
                    raise OffTrack(f"{task.url} has no button to return the HIT.")
                self.site.open(form.action, form.fields)
                break
        return submitted

    def _accept(self) -> Page | None:
        """The page of a newly accepted HIT."""
        offered = self.site.open(f"{self.base_url}/marketplace/").form(_ACCEPT)
        if offered is None:
            return None
        page = self.site.open(offered.action, offered.fields)
        return page if _TASK.search(urlsplit(page.url).path) else None

    def _answer(self, task: Page) -> bool:
        """Does the work in the frame, without a cookie. False if the study has nothing for this worker in this HIT."""
        from annotation.models import Worker
        from annotation.work.bots import Bot, Browser, TurnedAway

        parts = urlsplit(task.frame)
        # Marked as simulated, so that every page with their data shows it.
        worker_id = dict(parse_qsl(parts.query))["workerId"]
        Worker.objects.get_or_create(platform=PLATFORM, platform_id=worker_id, defaults={"synthetic": True})
        bot = Bot(self.study, self.worker, Browser(self.base_url), lambda: None)
        try:
            path = bot.enter(f"{parts.path}?{parts.query}")
            bot.answer_all(path, most=1)
        except TurnedAway:
            return False
        finally:
            bot.browser.close()
        # Submits the HIT as the last page in the frame does: with a form, and again without a cookie.
        browser = Visitor()
        last = browser.open(f"{self.base_url}{path}done")
        form = last.form(re.compile(r"/mturk/externalSubmit$"))
        if form is None:
            raise OffTrack(f"{last.url} has no form that submits the HIT.")
        browser.open(form.action, form.fields)
        return True


# --- The requester ----------------------------------------------------------------------------------------------


class CommandFailed(Exception):
    """A command of the demo failed. The message is what it printed."""


@dataclass(frozen=True)
class Lab:
    """The requester: a balance on the marketplace, and commands run with its key. ``say`` prints a line."""

    key: tuple[str, str]
    say: Callable[[str], object]

    @classmethod
    def founded(cls, *, say: Callable[[str], object]) -> Lab:
        """A requester with play money. Raises CommandFailed."""
        say(marketplace("make-requester", REQUESTER, "--balance", str(PLAY_MONEY)).strip())
        key = dict(line.partition("=")[::2] for line in marketplace("make-key", REQUESTER).splitlines())
        return cls((key["AWS_ACCESS_KEY_ID"], key["AWS_SECRET_ACCESS_KEY"]), say)

    def study(self, *arguments: str) -> None:
        """Runs ``manage.py study`` and prints the command and its output. Raises CommandFailed."""
        self.say(f"$ manage.py study {' '.join(arguments)}")
        names = ("HITSERVER_MTURK_ACCESS_KEY_ID", "HITSERVER_MTURK_SECRET_ACCESS_KEY")
        for line in manage("study", *arguments, **dict(zip(names, self.key, strict=True))).splitlines():
            self.say(f"    {line}")

    def book_lines(self, study: Study) -> Sequence[str]:
        """What the marketplace charged and what the study recorded. Raises OffTrack if they do not agree."""
        from django.conf import settings

        from annotation.models import Payment
        from annotation.platforms.mturk.api import Account
        from annotation.platforms.mturk.platform import Mturk
        from annotation.recruiting import publishing

        marketplace("check-ledger")
        account = Account(settings.MTURK_ENDPOINT, settings.MTURK_REGION, *self.key)
        charged = PLAY_MONEY - Mturk.of(account).balance()
        study.refresh_from_db(fields=["platforms"])  # publishing has stored settings that change the fees
        fees = publishing.cost(study, Mturk.offline()).fees
        recorded = sum(Payment.objects.filter(study=study).values_list("amount", flat=True), Decimal(0))
        if charged != recorded + fees:
            what = f"The marketplace charged {money(charged)}, of which {money(fees)} are fees"
            raise OffTrack(f"{what}, but the study recorded {money(recorded)}.")
        return [
            f"The marketplace charged {money(charged)}: {money(charged - fees)} for workers and {money(fees)} in fees.",
            f"The study recorded {money(recorded)} in {counted(study.payments.count(), 'payment')}. The books agree.",
        ]


def marketplace(*arguments: str) -> str:
    """Runs ``manage.py marketplace`` in this process and returns what it prints. Raises CommandFailed."""
    from django.core.management import CommandError, call_command

    printed = StringIO()
    try:
        call_command("marketplace", *arguments, stdout=printed)
    except CommandError as error:
        raise CommandFailed(str(error)) from None
    return printed.getvalue()


def manage(*arguments: str, **environment: str) -> str:
    """Runs a command of ``manage.py`` and returns what it prints. Raises CommandFailed."""
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    done = subprocess.run(command, env=os.environ | environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandFailed(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def work_on_marketplace(
    study: Study, base_url: str, *, workers: int, seed: int, progress: Callable[[], object]
) -> tuple[int, int]:
    """Lets simulated workers join and do every HIT. Returns how many workers and submissions there were.

    Raises OffTrack, CommandFailed, BotError, OSError.
    """
    from django.db import connections

    from annotation.task_types.simulation import SimulatedWorker
    from annotation.work.bots import Mix

    invitations = marketplace("invite", "--count", str(workers)).split()

    def run(number: int) -> int:
        name = f"sim-{seed}-{number}"
        profile = Mix().draw(random.Random(f"{study.slug}/{name}"))  # noqa: S311 - simulated workers are reproducible
        simulated = SimulatedWorker.named(name, profile)
        worker = MarketWorker(study, simulated, base_url, progress)
        try:
            worker.join(invitations[number], secrets.token_urlsafe(12))
            return worker.work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=4) as pool:
        submissions = list(pool.map(run, range(workers)))
    return sum(count > 0 for count in submissions), sum(submissions)


def marketplace_addresses(user: str, base_url: str) -> Sequence[str]:
    """Lines with the addresses of the marketplace: for its operator, and for a worker who joins by a new invitation."""
    marketplace("make-operator", user)
    return [
        f"Marketplace:     {base_url}/marketplace/operate/  the same user: requesters, workers, HITs, money",
        f"Join as worker:  {marketplace('invite').strip()}",
    ]
