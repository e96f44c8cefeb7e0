"""API tokens: they let a program read the JSON API as its user."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.log import Kind, record
from accounts.models import ApiToken
from common.problems import invalid

#: Every token begins with this, so that it can be recognised and masked anywhere.
PREFIX = "hits_"
MOST_TOKENS = 50
USE_NOTED_AFTER = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new token with its text, which is shown this one time."""

    token: ApiToken
    text: str


@transaction.atomic
def create_token(*, user: User, name: str) -> NewToken:
    """Makes a token for the user. Raises Invalid if they already have ``MOST_TOKENS``."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if tokens_of(user).count() >= MOST_TOKENS:
        raise invalid("name", f"You have {MOST_TOKENS} tokens.", "Revoke one that you no longer use.")
    text = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(user=user, name=name, token_hash=_hashed(text), created_at=timezone.now())
    record(kind=Kind.USERS, actor=user.get_username(), action="token created", about=user.get_username(), token=name)
    return NewToken(token, text)


@transaction.atomic
def revoke_token(*, token: ApiToken, actor: str) -> None:
    """Makes the token useless from now on. Doing it twice changes nothing."""
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        username = token.user.get_username()
        record(kind=Kind.USERS, actor=actor, action="token revoked", about=username, token=token.name)


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """The tokens that still work, newest first."""
    return ApiToken.objects.filter(user=user, revoked_at=None).order_by("-pk")


def find_token(text: str) -> ApiToken | None:
    """The token of an active user with this text; None if there is none. Records the use."""
    token = ApiToken.objects.select_related("user").filter(token_hash=_hashed(text), revoked_at=None).first()
    if token is None or not token.user.is_active:
        return None
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > USE_NOTED_AFTER:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
