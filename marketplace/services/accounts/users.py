"""Users with a password: who signs in for a requester, and who runs the marketplace."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from common.languages import gettext as _
from common.languages import marked
from marketplace import access
from marketplace.models import Requester, RequesterLink
from marketplace.services.audit_log import record
from marketplace.services.refusals import Refusal
from marketplace.services.secrets import hashed, new_token

NAME_TAKEN = marked("This user name is taken. Choose another.")
LINK_USED = marked("This link has been used or has expired. Ask for a new one.")
INVITATION_DAYS = 14
PASSWORD_LINK_HOURS = 24


@transaction.atomic
def make_operator(*, user: User, actor: str) -> None:
    """Let a user run the marketplace. Safe to repeat."""
    if not access.is_operator(user):
        access.add_operator(user)
        record(actor=actor, action="operator made", about=user.get_username())


def create_user(username: str, password: str | None, email: str) -> User:
    """Raises Refusal if the name is taken or the password is too weak. None means no sign-in with a password."""
    user = User(username=username, email=email)
    if User.objects.filter(username__iexact=username).exists():
        raise Refusal(_(NAME_TAKEN))
    try:
        user.full_clean(exclude=["password"])
        if password:
            validate_password(password, user)
    except ValidationError as error:
        raise Refusal(" ".join(error.messages)) from None
    user.set_password(password or None)
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError:
        raise Refusal(_(NAME_TAKEN)) from None
    return user


@transaction.atomic
def attach_user(*, requester: Requester, username: str, actor: str) -> User:
    """Let an existing user sign in for the requester. Their password stays the same. Raises Refusal."""
    locked = _without_user(requester)
    user = User.objects.filter(username=username.strip()).first()
    if user is None:
        raise Refusal(f"There is no user called “{username.strip()}”. Make an invitation link for somebody new.")
    _attach(locked, user, made_here=False)
    record(actor=actor, action="user attached", about=user.get_username(), requester=locked)
    return user


def _without_user(requester: Requester) -> Requester:
    locked = Requester.objects.select_for_update(of=("self",), no_key=True).select_related("user").get(pk=requester.pk)
    if locked.user is not None:
        raise Refusal(f"{locked.user.get_username()} signs in for {locked.name}. Detach that user first.")
    return locked


def _attach(requester: Requester, user: User, *, made_here: bool) -> None:
    requester.user, requester.user_made_here = user, made_here
    try:
        with transaction.atomic():
            requester.save(update_fields=["user", "user_made_here"])
    except IntegrityError:
        raise Refusal(f"{user.get_username()} signs in for another requester.") from None


@transaction.atomic
def detach_user(*, requester: Requester, actor: str) -> None:
    """The user can no longer sign in for the requester. Everything else stays, as do access keys. Safe to repeat."""
    locked = Requester.objects.select_for_update(of=("self",), no_key=True).select_related("user").get(pk=requester.pk)
    if locked.user is None:
        return
    name = locked.user.get_username()
    locked.user, locked.user_made_here = None, False
    locked.save(update_fields=["user", "user_made_here"])
    _void_links(locked)
    record(actor=actor, action="user detached", about=name, requester=locked)


def _void_links(requester: Requester) -> None:
    RequesterLink.objects.filter(requester=requester, used_at=None).delete()


@transaction.atomic
def invite_user(*, requester: Requester, actor: str) -> str:
    """The token of a link that lets one person create the requester's user. Voids earlier links. Raises Refusal."""
    locked = _without_user(requester)
    token = _new_link(locked, user=None, valid_for=timedelta(days=INVITATION_DAYS))
    record(actor=actor, action="user invited", about=locked.name, requester=locked)
    return token


@transaction.atomic
def make_password_link(*, requester: Requester, actor: str) -> str:
    """The token of a link that sets a new password for the requester's user. Raises Refusal.

    Only for a user created for this requester. Otherwise an operator could sign in as somebody with more rights, such
    as the person who runs the server.
    """
    locked = Requester.objects.select_for_update(of=("self",), no_key=True).select_related("user").get(pk=requester.pk)
    if locked.user is None:
        raise Refusal("Nobody signs in for this requester.")
    if not locked.user_made_here:
        raise Refusal(
            f"{locked.user.get_username()} had an account before it was attached, so you cannot reset its password."
        )
    token = _new_link(locked, user=locked.user, valid_for=timedelta(hours=PASSWORD_LINK_HOURS))
    record(actor=actor, action="password link made", about=locked.user.get_username(), requester=locked)
    return token


def _new_link(requester: Requester, *, user: User | None, valid_for: timedelta) -> str:
    _void_links(requester)
    token, now = new_token(), timezone.now()
    RequesterLink.objects.create(
        token_hash=hashed(token), requester=requester, user=user, created_at=now, expires_at=now + valid_for
    )
    return token


def find_link(token: str) -> RequesterLink | None:
    """The link that this token opens, if it is still valid."""
    links = RequesterLink.objects.select_related("requester", "user")
    link = links.filter(token_hash=hashed(token), used_at=None, expires_at__gt=timezone.now()).first()
    if link is None or not link.requester.active or link.requester.user_id != link.user_id:
        return None
    return link


@transaction.atomic
def redeem_link(*, token: str, username: str = "", password: str) -> User:
    """Create the invited user, or set the new password. Raises Refusal."""
    RequesterLink.objects.select_for_update(of=("self",)).filter(token_hash=hashed(token)).first()
    link = find_link(token)
    if link is None:
        raise Refusal(_(LINK_USED))
    if link.user is None:
        requester = _without_user(link.requester)
        user = create_user(username.strip(), password, requester.email)
        _attach(requester, user, made_here=True)
        record(actor=user.get_username(), action="user made", about=user.get_username(), requester=requester)
    else:
        user = link.user
        try:
            validate_password(password, user)
        except ValidationError as error:
            raise Refusal(" ".join(error.messages)) from None
        user.set_password(password)
        user.save(update_fields=["password"])
        record(actor=user.get_username(), action="password set", about=user.get_username(), requester=link.requester)
    RequesterLink.objects.filter(pk=link.pk).update(used_at=timezone.now())
    return user
