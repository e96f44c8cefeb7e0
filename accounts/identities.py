"""Who somebody is here that a provider has signed in: by subject and issuer, never by their e-mail address alone."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone

from accounts import invitations, roles
from accounts.invitations import AddToTeam
from accounts.log import Kind, record
from accounts.models import AccessLink, Identity
from accounts.oidc import Claims, SignOnRefused
from accounts.provider import Provider
from common.problems import Refused

#: Where a session keeps an identity that is connected once its user has given the password of their account.
TO_CONNECT, TIME_TO_CONNECT = "_to_connect", timedelta(minutes=10)
#: How many numbers are tried behind a user name that is taken.
TRIES = 100


class PasswordFirst(Exception):
    """There is an account with this address. Whoever gives its password connects it with the identity."""


def user_for(claims: Claims, provider: Provider, *, invitation: str, add_to_team: AddToTeam) -> User:
    """The user whom the provider signed in, perhaps new. Raises SignOnRefused, and PasswordFirst."""
    _refuse_domain(claims, provider)
    with transaction.atomic():
        identity = Identity.objects.filter(issuer=claims.issuer, subject=claims.subject).select_related("user").first()
        if identity is None:
            identity = _connected(claims, _newcomer(claims, provider, invitation, add_to_team))
        user = identity.user
        identity.email, identity.last_used_at = claims.email, timezone.now()
        _follow_group(identity, claims, provider)
        identity.save(update_fields=["email", "last_used_at", "made_administrator"])
    if not roles.is_researcher(user):
        what = f"Your account {user.get_username()} cannot open the console."
        raise SignOnRefused(what, "Ask an administrator for access.", reason="no researcher, or inactive", status=403)
    return user


def _refuse_domain(claims: Claims, provider: Provider) -> None:
    if not provider.domains:
        return
    if not claims.email:
        what = f"{provider.name} has not verified your e-mail address, and this server admits only some domains."
        raise SignOnRefused(what, "Verify the address there first.", reason="e-mail is not verified", status=403)
    if claims.email.rpartition("@")[2].lower() not in provider.domains:
        what = f"This server does not admit {claims.email}."
        fix = f"Use an account with an address at {' or '.join(provider.domains)}."
        raise SignOnRefused(what, fix, reason="another domain", status=403)


def _newcomer(claims: Claims, provider: Provider, invitation: str, add_to_team: AddToTeam) -> User:
    """Who signs in at the provider for the first time: an invited person, or one of a domain that gets accounts."""
    link = invitations.find_invitation(invitation) if invitation else None
    link = link or invitations.invitation_for(claims.email)
    if link is not None:
        return _accept(link, claims, add_to_team)
    if claims.email and User.objects.filter(pk__in=roles.researchers(), email__iexact=claims.email).count() == 1:
        raise PasswordFirst
    if provider.creates and claims.email:
        return _accept(
            invitations.invite(email=claims.email, actor=f"single sign-on: {provider.name}")[0], claims, add_to_team
        )
    fix = "Ask an administrator of this server for an invitation."
    if claims.unverified_email:
        what = f"{provider.name} has not verified {claims.unverified_email}, so it cannot say who you are here."
        raise SignOnRefused(
            what,
            f"Verify the address there, or use the link of your invitation. {fix}",
            reason="e-mail is not verified",
            status=403,
        )
    raise SignOnRefused("You have no account on this server yet.", fix, reason="no invitation", status=403)


def _accept(link: AccessLink, claims: Claims, add_to_team: AddToTeam) -> User:
    try:
        return invitations.accept(
            link=link, username=_free_name(claims), password=None, email=claims.email, add_to_team=add_to_team
        )
    except Refused as refused:
        problem = refused.problems[0]
        raise SignOnRefused(problem.what, problem.fix, reason=f"invitation: {problem.where}", status=403) from None


def _free_name(claims: Claims) -> str:
    """A user name that nobody has, like the one at the provider."""
    wished = claims.username or (claims.email or claims.unverified_email)
    name = re.sub(r"[^\w.+-]", "", wished.partition("@")[0])[:100] or "researcher"
    for name_with_number in (name, *(f"{name}{number}" for number in range(2, TRIES))):
        if not User.objects.filter(username__iexact=name_with_number).exists():
            return name_with_number
    return f"{name}-{timezone.now():%Y%m%d%H%M%S}"


def _follow_group(identity: Identity, claims: Claims, provider: Provider) -> None:
    """Makes the members of the provider's group administrators, and nobody else whom it once made one."""
    user, is_member = identity.user, provider.admin_group in claims.groups
    if (
        not provider.admin_group
        or is_member == user.is_superuser
        or (not is_member and not identity.made_administrator)
    ):
        return
    if not is_member and not User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk).exists():
        return  # the last one stays: nobody could manage users otherwise
    user.is_superuser = user.is_staff = identity.made_administrator = is_member
    user.save(update_fields=["is_superuser", "is_staff"])
    action = "made administrator" if is_member else "administrator revoked"
    record(kind=Kind.USERS, actor=provider.name, action=action, about=user.get_username(), group=provider.admin_group)


# --- connecting -------------------------------------------------------------------------------------------------------


@transaction.atomic
def connect(*, user: User, claims: Claims, provider: Provider) -> None:
    """From now on, this identity signs the user in. Raises SignOnRefused if it signs in somebody else."""
    _refuse_domain(claims, provider)
    identity = Identity.objects.filter(issuer=claims.issuer, subject=claims.subject).first()
    if identity is not None and identity.user_id != user.pk:
        what = f"This account at {provider.name} signs in another user here."
        raise SignOnRefused(what, "Disconnect it there first.", reason="identity of another user", status=403)
    if identity is None:
        _connected(claims, user)


def _connected(claims: Claims, user: User) -> Identity:
    now = timezone.now()
    try:
        with transaction.atomic():
            identity = Identity.objects.create(
                user=user, issuer=claims.issuer, subject=claims.subject, email=claims.email, created_at=now
            )
    except IntegrityError:  # two tabs at once
        return Identity.objects.get(issuer=claims.issuer, subject=claims.subject)
    name = user.get_username()
    record(kind=Kind.USERS, actor=name, action="identity connected", about=name, issuer=claims.issuer)
    return identity


@transaction.atomic
def disconnect(*, identity: Identity, actor: str) -> None:
    """The identity no longer signs the user in. The caller makes sure that they have another way in."""
    if Identity.objects.filter(pk=identity.pk).delete()[0]:
        about = identity.user.get_username()
        record(kind=Kind.USERS, actor=actor, action="identity disconnected", about=about, issuer=identity.issuer)


def connect_later(request: HttpRequest, claims: Claims) -> None:
    """Notes the identity until its user has given the password of their account."""
    until = (timezone.now() + TIME_TO_CONNECT).isoformat()
    request.session[TO_CONNECT] = {
        "issuer": claims.issuer,
        "subject": claims.subject,
        "email": claims.email,
        "until": until,
    }


def connect_noted(request: HttpRequest, user: User) -> bool:
    """Connects the identity that was noted in this browser if the user has its address. Returns whether it did."""
    noted: dict[str, Any] | None = request.session.pop(TO_CONNECT, None)
    if not noted or datetime.fromisoformat(noted["until"]) < timezone.now():
        return False
    if noted["email"].casefold() != user.email.casefold():
        return False
    claims = Claims(issuer=noted["issuer"], subject=noted["subject"], email=noted["email"])
    return _connected(claims, user).user_id == user.pk
