"""API tokens: they let a program use the API as its user, within the token's scopes and until it expires."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.log import Kind, record
from accounts.models import ApiToken
from common.problems import Problem, invalid, refuse_if_any

Scope = ApiToken.Scope
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
def create_token(
    *,
    user: User,
    name: str,
    scopes: Collection[str] = (Scope.READ,),
    expires_at: datetime | None = None,
    made_with: ApiToken | None = None,
) -> NewToken:
    """Makes a token for the user. Without ``expires_at``, it works until somebody revokes it.

    A token that a program makes with another (``made_with``) has no scope that the other lacks, works no longer than
    it, and is revoked with it. Raises Invalid for what is refused for this reason, for scopes that do not exist, for no
    scope, for a time in the past, and if the user already has ``MOST_TOKENS``.
    """
    for scope in scopes:
        if scope not in Scope.values:
            raise invalid("scopes", f"There is no scope “{scope[:40]}”.", f"Choose among {', '.join(Scope.values)}.")
    if not scopes:
        raise invalid("scopes", "This token could do nothing.", "Choose at least one thing that it may do.")
    now = timezone.now()
    if expires_at is not None and expires_at <= now:
        raise invalid("expires_at", "This time is in the past.", "Choose a later one.")
    if made_with is not None:
        refuse_if_any(_stronger_than(made_with, scopes, expires_at))
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if tokens_of(user).count() >= MOST_TOKENS:
        raise invalid("name", f"You have {MOST_TOKENS} tokens.", "Revoke one that you no longer use.")
    if made_with is not None and not ApiToken.objects.filter(pk=made_with.pk, revoked_at=None).exists():
        raise invalid("name", "The token of this request was revoked.", "Send another token.")
    text = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=name,
        token_hash=_hashed(text),
        scopes=[scope for scope in Scope.values if scope in scopes],
        created_at=now,
        expires_at=expires_at,
        made_with=made_with,
    )
    made_by: dict[str, Any] = {"made_with": made_with.name} if made_with else {}
    record(
        kind=Kind.USERS,
        actor=user.get_username(),
        action="token created",
        about=user.get_username(),
        token=name,
        scopes=token.scopes,
        expires_at=expires_at,
        **made_by,
    )
    return NewToken(token, text)


def _stronger_than(token: ApiToken, scopes: Collection[str], expires_at: datetime | None) -> list[Problem]:
    """What a new token could do that this one cannot, or when."""
    problems = [
        Problem("scopes", f"The token of this request lacks the scope “{scope}”.", "Leave it out, or use the console.")
        for scope in scopes
        if not token.allows(scope)
    ]
    if token.expires_at is not None and (expires_at is None or expires_at > token.expires_at):
        what = "The new token would work longer than the token of this request."
        problems.append(Problem("expires_at", what, f"Choose a time up to {token.expires_at.isoformat()}."))
    return problems


@transaction.atomic
def revoke_token(*, token: ApiToken, actor: str) -> None:
    """Makes the token useless from now on, with all that programs made with it. Doing it twice changes nothing."""
    User.objects.select_for_update(no_key=True).get(pk=token.user_id)  # so that nobody makes one with it meanwhile
    username, now, tokens = token.user.get_username(), timezone.now(), [token]
    while tokens:
        revoked = tokens.pop()
        if ApiToken.objects.filter(pk=revoked.pk, revoked_at=None).update(revoked_at=now):
            record(kind=Kind.USERS, actor=actor, action="token revoked", about=username, token=revoked.name)
        tokens += revoked.made_tokens.all()


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """The tokens that nobody has revoked, expired ones too, newest first."""
    return ApiToken.objects.filter(user=user, revoked_at=None).order_by("-pk")


def find_token(text: str) -> ApiToken | None:
    """The token of an active user that nobody has revoked, with its user; None if there is none. It may be expired."""
    tokens = ApiToken.objects.select_related("user").filter(user__is_active=True, revoked_at=None)
    return tokens.filter(token_hash=_hashed(text)).first()


def note_use(token: ApiToken) -> None:
    """Records that the token is used now, at most once in ``USE_NOTED_AFTER``."""
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > USE_NOTED_AFTER:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
