"""A second factor: codes from an app on a phone (RFC 6238), and recovery codes for when it is lost.

A user with a factor shows it after every password, wherever they sign in. Wrong codes are counted per user in the
server's log, whatever address they come from: whoever gets here knows the password, so nobody else is locked out.
"""

from __future__ import annotations

import base64
import hashlib
import io
import secrets
import time
from collections.abc import Callable
from datetime import timedelta

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from accounts.log import Kind, record
from accounts.models import LogEntry, RecoveryCode, SecondFactor
from common.problems import invalid
from common.sealing import CannotOpen, open_sealed, seal

PURPOSE = "secrets of authenticator apps"
#: What every authenticator app can do: RFC 6238 with SHA-1, six digits and 30 seconds. RFC 4226 asks for 160 bits.
DIGITS, STEP_SECONDS, SECRET_BYTES = 6, 30, 20
#: The code before and the one after are accepted, too: clocks differ, and typing takes time.
DRIFT_STEPS = 1
MOST_FACTORS = 10
N_RECOVERY_CODES = 10
#: More bits than anybody can try, even with a copy of the hashes.
RECOVERY_BYTES = 10
#: After this many wrong codes in this time, none is checked. An attacker with the password has 240 guesses a day.
MOST_WRONG, WRONG_WINDOW = 10, timedelta(hours=1)
WRONG_CODE = "second factor wrong"
WRONG = "This code is wrong, or it was used before. Wait for the next one and type that."
WAIT = (
    "There were too many wrong codes for this account. Wait an hour, then try again. If you did not type them, "
    "somebody knows your password: change it."
)
#: Set in a session whose user has shown a second factor, or whose provider said that they showed one there.
VERIFIED = "_second_factor"


class WrongCode(Exception):
    """Nothing was shown. ``message`` is for the page; ``must_wait``: no code is checked for a while."""

    def __init__(self, message: str, *, must_wait: bool = False) -> None:
        super().__init__(message)
        self.message, self.must_wait = message, must_wait


# --- who must show one --------------------------------------------------------------------------------------------


def is_on() -> bool:
    return bool(settings.SECOND_FACTOR != "off")


def has_factor(user: User) -> bool:
    """Whether the user is asked for a second factor when they sign in."""
    return is_on() and SecondFactor.objects.filter(user=user).exists()


def is_required(user: User, runs_server: Callable[[User], bool]) -> bool:
    """Whether the user must have a second factor. ``runs_server``: who is an administrator or an operator."""
    return bool(
        settings.SECOND_FACTOR == "required" or (settings.SECOND_FACTOR == "required-for-admins" and runs_server(user))
    )


def is_missing(request: HttpRequest, user: User, runs_server: Callable[[User], bool]) -> bool:
    """Whether this session may see nothing yet: its user must have a second factor and has not shown one."""
    return is_required(user, runs_server) and not request.session.get(VERIFIED)


# --- codes --------------------------------------------------------------------------------------------------------


def new_secret() -> str:
    """A secret for an app, in the letters and digits that people can type."""
    return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()


@sensitive_variables()
def seal_secret(user: User, secret: str) -> str:
    """The secret as it is stored: unreadable, and of use to this user alone."""
    return seal(secret, purpose=PURPOSE, bound_to=f"user {user.pk}")


@sensitive_variables()
def open_secret(user: User, sealed: str) -> str:
    """The secret; empty if it cannot be read any more, or is somebody else's."""
    try:
        return open_sealed(sealed, purpose=PURPOSE, bound_to=f"user {user.pk}")
    except CannotOpen:
        return ""


def _totp(secret: str) -> TOTP:
    return TOTP(base64.b32decode(secret), DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303 - as RFC 6238 and every app


@sensitive_variables()
def uri_of(secret: str, *, account: str, server: str) -> str:
    """What the QR code of an app contains."""
    return _totp(secret).get_provisioning_uri(account, server)


@sensitive_variables()
def qr_svg(uri: str) -> str:
    """The text as a QR code, drawn in SVG without styles of its own."""
    import segno  # only this page needs it

    drawing = io.BytesIO()
    segno.make(uri, error="m", micro=False).save(
        drawing, kind="svg", xmldecl=False, svgns=True, scale=5, border=4, dark="#000", light="#fff", title="QR code"
    )
    return drawing.getvalue().decode()


@sensitive_variables()
def step_of(secret: str, code: str, *, after: int) -> int | None:
    """The time step that the code belongs to, if it is a recent one later than ``after``; otherwise None."""
    now = int(time.time()) // STEP_SECONDS
    for step in range(now - DRIFT_STEPS, now + DRIFT_STEPS + 1):
        expected = _totp(secret).generate(step * STEP_SECONDS).decode()
        if step > after and secrets.compare_digest(expected.encode(), code.encode()):
            return step
    return None


def _tidy(code: str) -> str:
    return "".join(code.split()).replace("-", "")


# --- showing a factor -----------------------------------------------------------------------------------------------


@sensitive_variables()
def check_code(request: HttpRequest, user: User, code: str) -> str:
    """What the code is: the app's or a recovery code. Both work once. Raises WrongCode.

    One code at a time for each user, so that guesses at the same time are all counted.
    """
    tidy, username, how = _tidy(code), user.get_username(), ""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        must_wait = _n_wrong(user) >= MOST_WRONG
        if not must_wait:
            is_apps = len(tidy) == DIGITS and tidy.isascii() and tidy.isdigit()
            how = _use_app(user, tidy) if is_apps else _use_recovery_code(user, tidy)
            if not how:
                record(kind=Kind.SIGN_INS, actor=username, action=WRONG_CODE, about=username, request=request)
    if must_wait:
        raise WrongCode(WAIT, must_wait=True)
    if not how:
        raise WrongCode(WRONG)
    return how


def _n_wrong(user: User) -> int:
    """The wrong codes since the last right one, as far as they count."""
    used = [
        SecondFactor.objects.filter(user=user).aggregate(at=Max("last_used_at"))["at"],
        RecoveryCode.objects.filter(user=user).aggregate(at=Max("used_at"))["at"],
    ]
    since = max([timezone.now() - WRONG_WINDOW, *(moment for moment in used if moment)])
    wrong = LogEntry.objects.filter(kind=Kind.SIGN_INS, action=WRONG_CODE, about=user.get_username()[:150])
    return wrong.filter(at__gt=since).count()


@sensitive_variables()
def _use_app(user: User, code: str) -> str:
    for factor in SecondFactor.objects.filter(user=user):
        secret = open_secret(user, factor.sealed)  # empty if the server's key was replaced: a recovery code still works
        step = step_of(secret, code, after=factor.last_step) if secret else None
        if step is not None:
            factor.last_step, factor.last_used_at = step, timezone.now()
            factor.sealed = seal_secret(user, secret)  # with the newest key
            factor.save(update_fields=["last_step", "last_used_at", "sealed"])
            return "authenticator app"
    return ""


@sensitive_variables()
def _use_recovery_code(user: User, code: str) -> str:
    unused = RecoveryCode.objects.filter(user=user, code_hash=_hashed(code), used_at=None)
    if not unused.update(used_at=timezone.now()):
        return ""
    name, left = user.get_username(), codes_left(user)
    record(kind=Kind.USERS, actor=name, action="recovery code used", about=name, left=left)
    return "recovery code"


def _hashed(code: str) -> str:
    return hashlib.sha256(code.upper().encode()).hexdigest()


# --- adding and removing ----------------------------------------------------------------------------------------------


def factors_of(user: User) -> QuerySet[SecondFactor]:
    """The user's factors, oldest first."""
    return SecondFactor.objects.filter(user=user).order_by("pk")


def codes_left(user: User) -> int:
    """How many recovery codes the user can still use."""
    return RecoveryCode.objects.filter(user=user, used_at=None).count()


@sensitive_variables()
@transaction.atomic
def add_app(*, user: User, secret: str, code: str, name: str) -> list[str]:
    """Adds an app whose code shows that it has the secret. Returns new recovery codes with the first one, later none.

    Raises Invalid for a wrong code, and if the user already has ``MOST_FACTORS``.
    """
    step = step_of(secret, _tidy(code), after=0)
    if step is None:
        what = "This is not the code that the app shows for this QR code."
        raise invalid("code", what, "Type the newest one. If it is refused again, set the phone’s clock automatically.")
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    n_factors = SecondFactor.objects.filter(user=user).count()
    if n_factors >= MOST_FACTORS:
        raise invalid("name", f"You have {MOST_FACTORS} apps.", "Remove one that you no longer use.")
    factor = SecondFactor.objects.create(
        user=user,
        name=" ".join(name.split())[:80] or "Authenticator app",
        sealed=seal_secret(user, secret),
        last_step=step,
        created_at=timezone.now(),
    )
    username = user.get_username()
    record(kind=Kind.USERS, actor=username, action="second factor added", about=username, factor=factor.name)
    return [] if n_factors else new_recovery_codes(user=user)


@transaction.atomic
def new_recovery_codes(*, user: User) -> list[str]:
    """New codes, which are shown this one time. The old ones no longer work."""
    RecoveryCode.objects.filter(user=user).delete()
    codes = [base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode() for _ in range(N_RECOVERY_CODES)]
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, code_hash=_hashed(code)) for code in codes)
    username = user.get_username()
    record(kind=Kind.USERS, actor=username, action="recovery codes made", about=username)
    return ["-".join(code[start : start + 4] for start in range(0, len(code), 4)) for code in codes]


@transaction.atomic
def remove_factor(*, factor: SecondFactor, actor: str) -> None:
    """Removes one factor. The recovery codes go with the last one."""
    user = factor.user
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    removed, _ = SecondFactor.objects.filter(pk=factor.pk).delete()
    if removed:
        about = user.get_username()
        record(kind=Kind.USERS, actor=actor, action="second factor removed", about=about, factor=factor.name)
    if not SecondFactor.objects.filter(user=user).exists():
        RecoveryCode.objects.filter(user=user).delete()


@transaction.atomic
def remove_all(*, user: User, actor: str) -> int:
    """For somebody who lost everything: removes all factors and recovery codes. Returns how many factors."""
    factors = list(factors_of(user))
    for factor in factors:
        remove_factor(factor=factor, actor=actor)
    return len(factors)
