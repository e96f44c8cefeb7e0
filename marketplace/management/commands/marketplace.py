"""``manage.py marketplace …``: set up and look after the marketplace from a terminal."""

from __future__ import annotations

import re
import secrets
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from inspect import signature
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.urls import NoReverseMatch, reverse

from marketplace import clock
from marketplace.models import LedgerEntry, Requester
from marketplace.money import amount as dollars
from marketplace.services import accounts, books, layouts, operating, payments, upkeep
from marketplace.services.refusals import Refused
from marketplace.sites.operate.workers import CouldNotSend, make_links

ACTOR = "command line"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}


class Command(BaseCommand):
    help = "Set up and look after the marketplace: operators, requesters, keys, invitations, deposits, clock."

    def add_arguments(self, parser: CommandParser) -> None:
        commands = parser.add_subparsers(dest="do", required=True, metavar="COMMAND")

        def add(name: str, about: str, run: Callable[..., None]) -> CommandParser:
            made: CommandParser = commands.add_parser(name, help=about, description=about)
            made.set_defaults(run=run)
            return made

        one = add("make-operator", "Let a user run the marketplace; a new user gets a password.", self.make_operator)
        one.add_argument("user", help="the user name")
        one = add("make-requester", "Set up a requester, with a deposit if you like.", self.make_requester)
        one.add_argument("name", help="as workers see it")
        one.add_argument("--balance", type=_amount, metavar="USD", help="first deposit")
        one.add_argument("--email", default="", help="address")
        one.add_argument("--user", default="", help="a user to sign in with; a new one gets a password")
        one = add("make-key", "Make an access key and print its secret, this once.", self.make_key)
        one.add_argument("requester", help="the requester's name")
        one = add("invite", "Make links by which workers join.", self.invite)
        one.add_argument("--email", default="", help="send the link there, too")
        one.add_argument("--count", type=int, default=1, help="how many links (default 1)")
        one.add_argument("--days", type=int, default=14, help="until they expire (default 14)")
        one = add("deposit", "Add to a requester's balance.", self.deposit)
        one.add_argument("requester", help="the requester's name")
        one.add_argument("amount", type=_amount, metavar="USD")
        one.add_argument("--note", default="", help="such as the number of an invoice")
        one = add(
            "make-layout", "Make a HIT layout from a page with ${placeholders} and print its id.", self.make_layout
        )
        one.add_argument("requester", help="the requester's name")
        one.add_argument("file", type=Path, help="the page, HTML in UTF-8; - reads it from standard input")
        one.add_argument("--name", default="", help="for you alone (default: the file's name)")
        one.add_argument("--height", type=int, default=0, help="of the frame, in pixels (default: fills the window)")
        add(
            "check-ledger",
            "Hold every entry and balance against each other; fails if the books are wrong.",
            self.check_ledger,
        )
        add("upkeep", "Do now what time alone brings about: expiry, abandonment, approval.", self.upkeep)
        one = add("clock", "Show the marketplace's time or move it (test controls only).", self.clock)
        one.add_argument("--forward", type=_span, metavar="SPAN", help="such as 90s, 30m, 12h or 3d")
        one.add_argument("--reset", action="store_true", help="back to the real time")

    def handle(self, *args: Any, run: Callable[..., None], do: str, **options: Any) -> None:
        try:
            run(**{name: options[name] for name in signature(run).parameters})
        except Refused as refused:
            raise CommandError(refused.message) from None

    @transaction.atomic
    def make_operator(self, *, user: str) -> None:
        found, password = self._user(user)
        operating.make_operator(user=found, actor=ACTOR)
        self.stdout.write(f"{found.username} may run the marketplace.")
        self._say_password(password)

    @transaction.atomic
    def make_requester(self, *, name: str, balance: Decimal | None, email: str, user: str) -> None:
        found, password = self._user(user) if user else (None, "")
        if found is not None and Requester.objects.filter(user=found).exists():
            raise CommandError(f"{found.username} signs in for another requester already.")
        made = accounts.create_requester(name=name, email=email, user=found, user_made_here=bool(password), actor=ACTOR)
        if balance:
            payments.deposit(requester=made, amount=balance, actor=ACTOR, about="First deposit")
        self.stdout.write(f"Requester “{made.name}” has {payments.available(made):,.2f} USD.")
        self._say_password(password)

    def make_key(self, *, requester: str) -> None:
        made = accounts.create_access_key(requester=_requester(requester), actor=ACTOR)
        self.stdout.write(f"AWS_ACCESS_KEY_ID={made.key.access_key_id}")
        self.stdout.write(f"AWS_SECRET_ACCESS_KEY={made.secret}")
        self.stdout.write(f"AWS_DEFAULT_REGION={settings.MARKETPLACE_REGION}")
        self.stdout.write(f"AWS_REGION={settings.MARKETPLACE_REGION}")  # what the SDKs besides Python's read
        if address := _endpoint():
            self.stdout.write(f"AWS_ENDPOINT_URL_MTURK={address}")
        self.stderr.write("The secret is not shown again.")

    def invite(self, *, email: str, count: int, days: int) -> None:
        if not 1 <= count <= 1000 or not 1 <= days <= 365:
            raise CommandError("--count takes 1 to 1000, --days 1 to 365.")
        if email and count > 1:
            raise CommandError("An e-mail address gets one link: each is for one worker.")
        try:
            for link in make_links(email=email, count=count, days=days, actor=ACTOR):
                self.stdout.write(link)
        except CouldNotSend as failed:
            self.stdout.write(failed.link)
            raise CommandError(f"{failed} Hand the link above over yourself.") from None

    def deposit(self, *, requester: str, amount: Decimal, note: str) -> None:
        found = _requester(requester)
        payments.deposit(requester=found, amount=amount, actor=ACTOR, about=note)
        self.stdout.write(f"Requester “{found.name}” has {payments.available(found):,.2f} USD.")

    def make_layout(self, *, requester: str, file: Path, name: str, height: int) -> None:
        try:
            html = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read as text in UTF-8: {error}") from None
        made = layouts.create_layout(
            requester=_requester(requester), name=name or file.name, html=html, frame_height=height
        )
        names = layouts.placeholders(made.html)
        self.stdout.write(f"HITLayoutId {made.layout_id}")
        self.stdout.write(f"Parameters  {', '.join(names) or 'none'}")

    def check_ledger(self) -> None:
        wrong = books.problems()
        for sentence in wrong:
            self.stdout.write(sentence)
        if wrong:
            raise CommandError(f"{len(wrong)} thing{'s' if len(wrong) != 1 else ''} in the books cannot be.")
        self.stdout.write(f"{LedgerEntry.objects.count()} entries, and all of them add up.")

    def upkeep(self) -> None:
        n = upkeep.bring_up_to_date(now=clock.now())
        self.stdout.write(f"{n} HIT{'s' if n != 1 else ''} brought up to date.")

    def clock(self, *, forward: timedelta | None, reset: bool) -> None:
        if (forward or reset) and not clock.controls_are_on():
            raise CommandError("The clock moves only where HITSERVER_MARKETPLACE_TEST_CONTROLS is 1.")
        if forward and reset:
            raise CommandError("Choose one of --forward and --reset.")
        if reset:
            clock.set_offset(timedelta())
        if forward:
            clock.set_offset(clock.offset() + forward)
        ahead = clock.offset()
        self.stdout.write(f"{clock.now():%Y-%m-%d %H:%M:%S} UTC{f', {ahead} ahead of the real time' if ahead else ''}")

    def _user(self, name: str) -> tuple[User, str]:
        """The user of that name, or a new one with a password of its own."""
        found = User.objects.filter(username=name).first()
        if found is not None:
            return found, ""
        try:
            User.username_validator(name)
        except ValidationError as error:
            raise CommandError(f"“{name}”: {' '.join(error.messages)}") from None
        password = secrets.token_urlsafe(12)
        return User.objects.create_user(name, password=password), password

    def _say_password(self, password: str) -> None:
        if password:
            self.stdout.write(f"Password of the new user: {password}")


def _requester(name: str) -> Requester:
    found = Requester.objects.filter(name=name).first()
    if found is None:
        names = Requester.objects.order_by("name").values_list("name", flat=True)[:20]
        there = f"There are: {', '.join(names)}." if names else "Make one first."
        raise CommandError(f"There is no requester “{name}”. {there}")
    return found


def _endpoint() -> str:
    """Where clients send their requests."""
    try:
        return settings.BASE_URL + reverse("market_api")
    except NoReverseMatch:
        return ""


def _amount(text: str) -> Decimal:
    try:
        return dollars(text)
    except ValueError as error:
        raise ArgumentTypeError(f"“{text}” is no amount: {error}") from None


def _span(text: str) -> timedelta:
    match = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if not match:
        raise ArgumentTypeError(f"“{text}” is no span of time. Write 90s, 30m, 12h or 3d.")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])
