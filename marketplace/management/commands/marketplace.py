"""``manage.py marketplace …``: set up and maintain the marketplace from a terminal."""

from __future__ import annotations

import re
import secrets
import sys
from argparse import ArgumentTypeError
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import transaction
from django.urls import NoReverseMatch, reverse

from common.commands import ActionCommand, AddAction
from marketplace import clock
from marketplace.models import LedgerEntry, Requester
from marketplace.money import amount as dollars
from marketplace.money import usd
from marketplace.services.accounts import requester_accounts, users
from marketplace.services.hits import due_changes, layouts
from marketplace.services.money import ledger_check, payments
from marketplace.services.refusals import Refusal
from marketplace.sites.operate.workers import CouldNotSend, make_links

ACTOR = "command line"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}


class Command(ActionCommand):
    help = "Set up and maintain the marketplace: operators, requesters, keys, invitations, deposits, clock."

    def add_actions(self, add: AddAction) -> None:
        action = add("make-operator", "Let a user run the marketplace; a new user gets a password.", self.make_operator)
        action.add_argument("user", help="the user name")
        action = add("make-requester", "Create a requester, with a first deposit if you like.", self.make_requester)
        action.add_argument("name", help="the name that workers see")
        action.add_argument("--balance", type=_amount, metavar="USD", help="first deposit")
        action.add_argument("--email", default="", help="address")
        action.add_argument("--user", default="", help="a user to sign in with; a new one gets a password")
        action = add("make-key", "Create an access key and print its secret, which is shown only once.", self.make_key)
        action.add_argument("requester", help="the requester's name")
        action = add("invite", "Create links for workers to join.", self.invite)
        action.add_argument("--email", default="", help="also send the link to this address")
        action.add_argument("--count", type=int, default=1, help="how many links (default 1)")
        action.add_argument("--days", type=int, default=14, help="until they expire (default 14)")
        action = add("deposit", "Add to a requester's balance.", self.deposit)
        action.add_argument("requester", help="the requester's name")
        action.add_argument("amount", type=_amount, metavar="USD")
        action.add_argument("--note", default="", help="for example an invoice number")
        action = add(
            "make-layout", "Create a HIT layout from a page with ${placeholders} and print its ID.", self.make_layout
        )
        action.add_argument("requester", help="the requester's name")
        action.add_argument("file", type=Path, help="the page, HTML in UTF-8; - reads it from standard input")
        action.add_argument("--name", default="", help="only you see it (default: the file's name)")
        action.add_argument("--height", type=int, default=0, help="of the frame, in pixels (default: fills the window)")
        add(
            "check-ledger",
            "Check all entries and balances. Fails if the books are wrong.",
            self.check_ledger,
        )
        add("upkeep", "Do now what is due: expiry, abandonment, approval.", self.upkeep)
        action = add("clock", "Show or move the marketplace's clock (moving needs test controls).", self.clock)
        action.add_argument("--forward", type=_span, metavar="SPAN", help="such as 90s, 30m, 12h or 3d")
        action.add_argument("--reset", action="store_true", help="back to the real time")

    def explain(self, error: Exception) -> CommandError | None:
        return CommandError(error.message) if isinstance(error, Refusal) else None

    @transaction.atomic
    def make_operator(self, *, user: str) -> None:
        account, password = self._user(user)
        users.make_operator(user=account, actor=ACTOR)
        self.stdout.write(f"{account.username} is an operator of the marketplace.")
        self._say_password(password)

    @transaction.atomic
    def make_requester(self, *, name: str, balance: Decimal | None, email: str, user: str) -> None:
        account, password = self._user(user) if user else (None, "")
        if account is not None and Requester.objects.filter(user=account).exists():
            raise CommandError(f"{account.username} already signs in for another requester.")
        created = requester_accounts.create_requester(
            name=name, email=email, user=account, user_made_here=bool(password), actor=ACTOR
        )
        if balance:
            payments.deposit(requester=created, amount=balance, actor=ACTOR, about="First deposit")
        self.stdout.write(f"Requester “{created.name}” has {usd(payments.available(created))}.")
        self._say_password(password)

    def make_key(self, *, requester: str) -> None:
        new_key = requester_accounts.create_access_key(requester=_requester(requester), actor=ACTOR)
        self.stdout.write(f"AWS_ACCESS_KEY_ID={new_key.key.access_key_id}")
        self.stdout.write(f"AWS_SECRET_ACCESS_KEY={new_key.secret}")
        self.stdout.write(f"AWS_DEFAULT_REGION={settings.MARKETPLACE_REGION}")
        self.stdout.write(f"AWS_REGION={settings.MARKETPLACE_REGION}")  # SDKs other than Python's read this
        try:
            address = settings.BASE_URL + reverse("market_api")  # where clients send their requests
        except NoReverseMatch:
            address = ""
        if address:
            self.stdout.write(f"AWS_ENDPOINT_URL_MTURK={address}")
            # Otherwise a tool that also uses SNS or SQS would send Amazon requests signed with this key.
            self.stdout.write(f"AWS_ENDPOINT_URL_SNS={_not_amazon(settings.MARKETPLACE_SNS_URL) or address}")
            self.stdout.write(f"AWS_ENDPOINT_URL_SQS={_not_amazon(settings.MARKETPLACE_SQS_URL) or address}")
        self.stderr.write("The secret is not shown again.")

    def invite(self, *, email: str, count: int, days: int) -> None:
        if not 1 <= count <= 1000 or not 1 <= days <= 365:
            raise CommandError("--count must be from 1 to 1000, --days from 1 to 365.")
        if email and count > 1:
            raise CommandError("Each link is for one worker, so an e-mail address can get only one.")
        try:
            for link in make_links(email=email, count=count, days=days, actor=ACTOR):
                self.stdout.write(link)
        except CouldNotSend as failed:
            self.stdout.write(failed.link)
            raise CommandError(f"{failed} Pass on the link above yourself.") from None

    def deposit(self, *, requester: str, amount: Decimal, note: str) -> None:
        payee = _requester(requester)
        payments.deposit(requester=payee, amount=amount, actor=ACTOR, about=note)
        self.stdout.write(f"Requester “{payee.name}” has {usd(payments.available(payee))}.")

    def make_layout(self, *, requester: str, file: Path, name: str, height: int) -> None:
        try:
            html = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read as UTF-8 text: {error}") from None
        layout = layouts.create_layout(
            requester=_requester(requester), name=name or file.name, html=html, frame_height=height
        )
        names = layouts.placeholders(layout.html)
        self.stdout.write(f"HITLayoutId {layout.layout_id}")
        self.stdout.write(f"Parameters  {', '.join(names) or 'none'}")

    def check_ledger(self) -> None:
        wrong = ledger_check.problems()
        for sentence in wrong:
            self.stdout.write(sentence)
        if wrong:
            raise CommandError(f"The books have {len(wrong)} error{'s' if len(wrong) != 1 else ''}.")
        self.stdout.write(f"The books are right: {LedgerEntry.objects.count()} entries checked.")

    def upkeep(self) -> None:
        n = due_changes.bring_up_to_date(now=clock.now())
        self.stdout.write(f"{n} HIT{'s' if n != 1 else ''} brought up to date.")

    def clock(self, *, forward: timedelta | None, reset: bool) -> None:
        if (forward or reset) and not clock.controls_are_on():
            raise CommandError("The clock only moves with HITSERVER_MARKETPLACE_TEST_CONTROLS=1.")
        if forward and reset:
            raise CommandError("Choose one of --forward and --reset.")
        if reset:
            clock.set_offset(timedelta())
        if forward:
            clock.set_offset(clock.offset() + forward)
        ahead = clock.offset()
        self.stdout.write(f"{clock.now():%Y-%m-%d %H:%M:%S} UTC{f', {ahead} ahead of the real time' if ahead else ''}")

    def _user(self, name: str) -> tuple[User, str]:
        """The user with that name, or a new user with a new password."""
        existing = User.objects.filter(username=name).first()
        if existing is not None:
            return existing, ""
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
    requester = Requester.objects.filter(name=name).first()
    if requester is None:
        names = Requester.objects.order_by("name").values_list("name", flat=True)[:20]
        hint = f"There are: {', '.join(names)}." if names else "Create one with make-requester."
        raise CommandError(f"There is no requester “{name}”. {hint}")
    return requester


def _not_amazon(address: str) -> str:
    """The address, if it is the lab's own service and may receive this marketplace's key; empty for Amazon's."""
    host = urlsplit(address).hostname or ""
    return "" if host.endswith((".amazonaws.com", ".amazonaws.com.cn")) else address


def _amount(text: str) -> Decimal:
    try:
        return dollars(text)
    except ValueError as error:
        raise ArgumentTypeError(f"“{text}” is not an amount. {error}") from None


def _span(text: str) -> timedelta:
    match = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if not match:
        raise ArgumentTypeError(f"“{text}” is not a length of time. Write 90s, 30m, 12h or 3d.")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])
