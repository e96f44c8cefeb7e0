"""``manage.py user …``: manage the users of the console from a terminal."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.urls import reverse

from accounts import invitations, roles, second_factor, users
from common.commands import ActionCommand, AddAction, aligned
from common.words import counted, moment_in_utc

ACTOR = "command line"


class Command(ActionCommand):
    help = "Manage researchers and other users: add, grant, revoke, deactivate, activate, end-sessions, list."

    def add_actions(self, add: AddAction) -> None:
        parser = add("add", "make a researcher and print a password", self.add)
        parser.add_argument("name", help="the user name")
        parser.add_argument("--administrator", action="store_true", help="let them see every study and manage users")
        for name, summary, run in (
            ("grant", "let an existing user use the console", self.grant),
            ("revoke", "take away access to the console; ends the user's sessions and tokens", self.revoke),
            ("deactivate", "stop the user from signing in; ends their sessions and tokens", self.deactivate),
            ("activate", "let the user sign in again; revoked tokens stay revoked", self.activate),
            ("end-sessions", "sign the user out everywhere", self.end_sessions),
            (
                "sign-in-link",
                "print a link that signs the user in once, such as after a lost password",
                self.sign_in_link,
            ),
            ("remove-second-factor", "for a user who lost their phone and their codes", self.remove_second_factor),
        ):
            add(name, summary, run).add_argument("name", help="the user name")
        parser = add("invite", "print a link with which one person makes an account", self.invite)
        parser.add_argument("--email", default="", help="who it is for; nothing is sent")
        parser.add_argument("--administrator", action="store_true", help="let them see every study and manage users")
        add("list", "list researchers and administrators", self.list_researchers)

    def add(self, *, name: str, administrator: bool) -> None:
        password = secrets.token_urlsafe(12)
        user = User(username=name)
        try:
            user.full_clean(exclude=["password"])
            validate_password(password, user)
        except ValidationError as error:
            raise CommandError(f"“{name}”: {' '.join(error.messages)}") from None
        users.create_researcher(username=name, password=password, administrator=administrator, actor=ACTOR)
        self.stdout.write(f"{name} can sign in to the console. Password: {password}")

    def grant(self, *, name: str) -> None:
        users.grant_researcher(user=_user(name), actor=ACTOR)
        self.stdout.write(f"{name} is a researcher.")

    def revoke(self, *, name: str) -> None:
        users.revoke_researcher(user=_user(name), actor=ACTOR)
        self.stdout.write(f"{name} is no longer a researcher.")

    def deactivate(self, *, name: str) -> None:
        users.deactivate(user=_user(name), actor=ACTOR)
        self.stdout.write(f"{name} is deactivated and signed out everywhere.")

    def activate(self, *, name: str) -> None:
        users.activate(user=_user(name), actor=ACTOR)
        self.stdout.write(f"{name} is active.")

    def end_sessions(self, *, name: str) -> None:
        ended = users.end_sessions(user=_user(name), actor=ACTOR)
        self.stdout.write(f"{counted(ended, 'session')} of {name} ended.")

    def invite(self, *, email: str, administrator: bool) -> None:
        link, token = invitations.invite(email=email, administrator=administrator, actor=ACTOR)
        self.stdout.write(settings.BASE_URL + reverse("console_join", args=[token]))
        self.stderr.write(f"It works once, until {moment_in_utc(link.expires_at)}.")

    def sign_in_link(self, *, name: str) -> None:
        token = invitations.make_way_in(user=_user(name), actor=ACTOR)
        self.stdout.write(settings.BASE_URL + reverse("console_way_in", args=[token]))
        self.stderr.write(f"It signs {name} in once, within {invitations.WAY_IN_MINUTES} minutes.")

    def remove_second_factor(self, *, name: str) -> None:
        removed = second_factor.remove_all(user=_user(name), actor=ACTOR)
        self.stdout.write(f"{counted(removed, 'second step')} of {name} removed.")

    def list_researchers(self) -> None:
        rows = []
        for user in roles.researchers().order_by("username"):
            role = "administrator" if user.is_superuser else "researcher"
            signed_in = f"last sign-in {user.last_login:%Y-%m-%d}" if user.last_login else "has never signed in"
            rows.append([user.username, role, signed_in])
        self.say(aligned(rows))


def _user(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no user “{name}”. To make a researcher: manage.py user add {name}")
    return user
